// What the next turn of a chat begins with, and where a prompt has its messages.
#include "weft/chat/next_turn.h"

#include <doctest/doctest.h>

#include "support/vocabulary.h"

namespace weft {
namespace {

// Drops the reasoning of earlier answers, and trims them; results of tools have a role of their
// own.
constexpr const char* kTemplate =
    "{% for m in messages %}[{{ m.role }}]{% if m.reasoning_content and loop.last %}<think>"
    "{{ m.reasoning_content }}</think>{% endif %}{{ m.content | trim }}{% for c in m.tool_calls or "
    "[] %}<call>{{ c.function | tojson }}</call>{% endfor %};{% endfor %}{% if "
    "add_generation_prompt %}[assistant]{% endif %}";

struct OtherTurns {
  std::shared_ptr<const Tokenizer> tokenizer =
      make_tokenizer(test::byte_level_builder("gpt-2").build());
  ChatFormat format = chat_format(*tokenizer, make_chat_template(kTemplate));
  ChatTurn turn{.messages = {{"system", "Be brief."}, {"user", "Hi"}}};

  std::string next(const ChatMessage& reply) const {
    return tokenizer->decode(next_prompt(format, turn, reply));
  }
};

TEST_CASE("the next prompt has the answer as the template writes it") {
  const OtherTurns c;
  CHECK(c.next({.role = "assistant", .content = " Hello. \n"}) ==
        "[system]Be brief.;[user]Hi;[assistant]Hello.;[user]");
  CHECK(c.next({.role = "assistant", .content = "Hello.", .reasoning = "A greeting."}) ==
        "[system]Be brief.;[user]Hi;[assistant]Hello.;[user]");
}

TEST_CASE("the next prompt after calls goes on with their results") {
  const OtherTurns c;
  const std::string next = c.next(
      {.role = "assistant", .content = "", .tool_calls = {{"call00000", "look", R"({"at":"x"})"}}});
  CHECK(next.ends_with("</call>;[tool]"));
  CHECK(next.find("look") != std::string::npos);
}

TEST_CASE("there is no next prompt if the template refuses it") {
  OtherTurns c;
  c.format = chat_format(
      *c.tokenizer, make_chat_template("{% if messages | length > 2 %}{{ raise_exception('no') }}"
                                       "{% endif %}{{ messages[0].content }}"));
  CHECK(c.next({.role = "assistant", .content = "Hello."}).empty());
}

TEST_CASE("borders are after the first message, and before the last one") {
  const OtherTurns c;
  const std::vector<TokenId> tokens = plan_turn(c.format, c.turn).tokens;
  const std::vector<std::int64_t> borders = message_borders(c.format, c.turn, tokens);
  REQUIRE(borders.size() == 1);
  const auto before = std::span(tokens).first(static_cast<std::size_t>(borders[0]));
  CHECK(c.tokenizer->decode(before) == "[system]Be brief.;");
}

TEST_CASE("a place in a prompt names the message") {
  const OtherTurns c;
  const std::vector<TokenId> tokens = plan_turn(c.format, c.turn).tokens;
  CHECK(place_of(c.format, c.turn, tokens, 10) == "in message 1 (system), `..tem]Be> bri`");
  CHECK(place_of(c.format, c.turn, tokens, 0) == "in message 1 (system), `>[sys`");
  const auto last = std::ssize(tokens) - 13;  // before [assistant]
  CHECK(place_of(c.format, c.turn, tokens, last).starts_with("in message 2 (user), `"));
}

}  // namespace
}  // namespace weft
