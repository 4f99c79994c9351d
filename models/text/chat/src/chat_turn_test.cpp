#include "weft/chat/chat_turn.h"

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/chat/place_error.h"

#include "support/vocabulary.h"

namespace weft {
namespace {

// Calls in the notation of Hermes; a tool's definition, content and prefill as they are.
constexpr const char* kTurnTemplate =
    "{% if tools %}<tools>{{ tools | tojson }}</tools><tool_call>{\"name\": NAME}</tool_call>\n"
    "{% endif %}{% for m in messages %}[{{ m.role }}]{{ m.content }}{% for c in m.tool_calls or [] "
    "%}<tool_call>\n{{ c.function | tojson }}\n</tool_call>{% endfor %}{% if not loop.last or "
    "m.role != 'assistant' %};{% endif %}{% endfor %}{% if add_generation_prompt %}[assistant]"
    "{% endif %}";

struct Chatter {
  std::shared_ptr<const Tokenizer> tokenizer =
      make_tokenizer(test::byte_level_builder("gpt-2").build());
  ChatFormat format = chat_format(*tokenizer, make_chat_template(kTurnTemplate));

  ChatPlan plan(const ChatTurn& turn) const { return plan_turn(format, turn); }
  bool accepts(const ChatTurn& turn, std::string_view reply) const {
    const ChatPlan made = plan(turn);
    REQUIRE(made.grammar);
    return made.grammar->accepts(reply);
  }
};

ChatTurn with_tools() {
  ChatTurn turn{.messages = {{"user", "Hi"}}};
  turn.tools = parse_tools(
      R"([{"type": "function", "function": {"name": "look", "parameters": {"type": "object",
          "properties": {"at": {"type": "string"}}, "required": ["at"]}}},
         {"type": "function", "function": {"name": "ping"}}])",
      "tools");
  turn.choice_place = "tool_choice";
  return turn;
}

constexpr const char* kLook =
    "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": \"x\"}}\n"
    "</tool_call>";
constexpr const char* kPing = "<tool_call>\n{\"name\": \"ping\", \"arguments\": {}}\n</tool_call>";

TEST_CASE("a turn becomes a prompt, and the reply is free") {
  const Chatter chatter;
  const ChatPlan plan = chatter.plan({.messages = {{"system", "Be brief."}, {"user", "Hi"}}});
  CHECK(plan.text == "[system]Be brief.;[user]Hi;[assistant]");
  CHECK(chatter.tokenizer->decode(plan.tokens, {}) == plan.text);
  CHECK_FALSE(plan.grammar);
  CHECK_FALSE(plan.reading.certain_calls);
}

TEST_CASE("the assistant's message at the end is continued, unless it must not be") {
  const Chatter chatter;
  ChatTurn turn{.messages = {{"user", "Hi"}, {"assistant", "Once upon"}}};
  CHECK(chatter.plan(turn).text == "[user]Hi;[assistant]Once upon");
  turn.continue_final_message = false;
  CHECK(chatter.plan(turn).text == "[user]Hi;[assistant]Once upon[assistant]");
}

TEST_CASE("the choice decides which tools the prompt mentions, and which the model must call") {
  const Chatter chatter;
  ChatTurn turn = with_tools();
  CHECK(chatter.plan(turn).text.find("look") != std::string::npos);
  CHECK_FALSE(chatter.plan(turn).grammar);

  turn.tool_choice = {ToolChoice::Kind::none};
  CHECK(chatter.plan(turn).text == "[user]Hi;[assistant]");
  CHECK(chatter.plan(turn).reading.options.tools.empty());

  turn.tool_choice = {ToolChoice::Kind::required};
  CHECK(chatter.plan(turn).reading.certain_calls);
  CHECK(chatter.plan(turn).reading.only_calls);
  CHECK(chatter.accepts(turn, kPing));
  CHECK(chatter.accepts(turn, std::string(kPing) + "\n" + kLook));
  CHECK_FALSE(chatter.accepts(turn, "Hello"));
  turn.parallel_calls = false;
  CHECK_FALSE(chatter.accepts(turn, std::string(kPing) + "\n" + kLook));

  turn.tool_choice = {ToolChoice::Kind::named, "look"};
  CHECK(chatter.accepts(turn, kLook));
  CHECK_FALSE(chatter.accepts(turn, kPing));
  // A named tool is called once.
  turn.parallel_calls = true;
  CHECK(chatter.accepts(turn, kLook));
  CHECK_FALSE(chatter.accepts(turn, std::string(kLook) + "\n" + kLook));
}

TEST_CASE("a free reply is held to one call, and strict tools to their schema") {
  const Chatter chatter;
  ChatTurn turn = with_tools();
  turn.parallel_calls = false;
  CHECK(chatter.accepts(turn, "Hello"));
  CHECK(chatter.accepts(turn, kLook));
  CHECK_FALSE(chatter.accepts(turn, std::string(kLook) + "\n" + kLook));
  turn.parallel_calls = true;
  turn.tools[0].strict = true;
  CHECK(chatter.accepts(turn, std::string(kLook) + "\n" + kLook));
  CHECK_FALSE(chatter.accepts(
      turn, "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": 5}}\n</tool_call>"));
}

TEST_CASE("a constraint holds for content, a grammar for everything") {
  const Chatter chatter;
  ChatTurn turn = with_tools();
  turn.constraint = {.kind = Constraint::Kind::choice, .choices = {"yes", "a\"b\\c\n"}};
  CHECK(chatter.accepts(turn, "yes"));
  CHECK(chatter.accepts(turn, "a\"b\\c\n"));
  CHECK(chatter.accepts(turn, kPing));
  CHECK_FALSE(chatter.accepts(turn, "no"));
  turn.constraint = {.kind = Constraint::Kind::gbnf, .text = R"(root ::= "x")", .place = "grammar"};
  CHECK(chatter.accepts(turn, "x"));
  CHECK_FALSE(chatter.accepts(turn, kPing));
  turn.tool_choice = {ToolChoice::Kind::required};
  CHECK_THROWS_WITH_AS(chatter.plan(turn), doctest::Contains("grammar: a grammar for all"),
                       PlaceError);
}

TEST_CASE("errors name the part of the turn, or are thrown as they are") {
  const Chatter chatter;
  const auto place_of = [&](const ChatTurn& turn) -> std::string {
    try {
      chatter.plan(turn);
    } catch (const PlaceError& e) {
      CHECK(std::string(e.what()) == e.place() + ": " + std::string(e.problem()));
      return e.place();
    }
    return "no error";
  };
  ChatTurn turn = with_tools();
  turn.tool_choice = {ToolChoice::Kind::named, "fly"};
  CHECK(place_of(turn) == "tool_choice");
  turn.tool_choice = {ToolChoice::Kind::required};
  turn.tools[0].parameters = R"({"properties": {"a": {"type": 5}}})";
  CHECK(place_of(turn) == "tools[0].function.parameters");
  turn.tool_choice = {ToolChoice::Kind::named, "ping"};
  CHECK(place_of(turn) == "tools[0].function.parameters");
  turn = with_tools();
  turn.tools[0].name = "look up";
  CHECK(place_of(turn) == "no error");
  turn.tool_choice = {ToolChoice::Kind::required};
  CHECK(place_of(turn) == "tools[0].function.name");
  turn = with_tools();
  turn.choice_place.clear();
  turn.tool_choice = {ToolChoice::Kind::named, "fly"};
  CHECK_THROWS_WITH_AS(chatter.plan(turn), "no tool is named \"fly\"", ValueError);
  turn = with_tools();
  turn.tools.push_back(turn.tools[0]);
  CHECK(place_of(turn) == "tools[0].function.name");
  turn = {.messages = {{"user", "Hi"}}};
  turn.constraint = {.kind = Constraint::Kind::regex, .text = "(", .place = "format"};
  CHECK(place_of(turn) == "format");
  turn.constraint.place.clear();
  CHECK_THROWS_AS(chatter.plan(turn), FormatError);
  turn = {.messages = {{"", "Hi"}}, .messages_place = "messages"};
  CHECK(place_of(turn) == "messages");
  CHECK_THROWS_AS(plan_turn({.tokenizer = chatter.tokenizer.get()}, turn), UnsupportedError);
}

TEST_CASE("the tokens of computed text are kept") {
  const Chatter chatter;
  const ChatTurn turn{.messages = {{"user", "Hi"}, {"assistant", "Yo"}, {"user", "And?"}}};
  const std::string done = "[user]Hi;[assistant]Yo";
  std::vector<TokenId> odd;  // byte by byte, as no tokenizer would have it
  for (const char c : done) {
    const auto one = chatter.tokenizer->encode(std::string(1, c), {.add_special = false});
    odd.insert(odd.end(), one.begin(), one.end());
  }
  const ChatPlan plan = plan_turn(chatter.format, turn, {done, odd});
  REQUIRE(plan.tokens.size() > odd.size());
  CHECK(std::equal(odd.begin(), odd.end(), plan.tokens.begin()));
  CHECK(chatter.tokenizer->decode(plan.tokens, {}) == plan.text);
  CHECK(plan_turn(chatter.format, turn, {"[user]Ho", odd}).tokens == chatter.plan(turn).tokens);
}

}  // namespace
}  // namespace weft
