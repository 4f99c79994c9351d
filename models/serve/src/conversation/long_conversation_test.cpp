// Conversations that go on at the end of the context.
#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/serve/conversation.h"

#include "conversation/conversation_test_support.h"

namespace weft {
namespace {

using test::greedy;
using test::Talk;
using test::TempFolder;

constexpr std::int64_t kContext = 160;

ConversationOptions going_on(ContextEnd end) {
  ConversationOptions options = greedy(30);
  options.context_end.end = end;
  options.rules.banned = {"<|im_end|>"};
  return options;
}

TEST_CASE("conversations go on when the context is full, and compute only what is new") {
  for (const ContextEnd end : {ContextEnd::shift, ContextEnd::window, ContextEnd::evict}) {
    CAPTURE(name_of_value(end));
    Talk talk(going_on(end), {.context = kContext});
    std::int64_t longest = 0;
    for (int i = 0; i < 12; ++i) {
      const auto said = talk.say("Tell me about a little dog.");
      CHECK(said.stop != StopReason::context_full);
      CHECK(talk.session.length(0) <= kContext);
      if (i > 0) longest = std::max(longest, talk.chat.last_prompt().tokens);
    }
    CHECK(talk.chat.n_dropped() > 0);
    CHECK(longest < 40);
    CHECK(talk.chat.messages().size() == 25);
  }
}

TEST_CASE("after a reset, nothing of what was dropped is left") {
  Talk talk(going_on(ContextEnd::shift), {.context = kContext});
  Talk other(going_on(ContextEnd::shift), {.context = kContext});
  for (int i = 0; i < 8; ++i) talk.say("Tell me about a little dog.");
  REQUIRE(talk.chat.n_dropped() > 0);
  talk.chat.reset();
  CHECK(talk.chat.n_dropped() == 0);
  for (int i = 0; i < 6; ++i) {
    const std::string message = i % 2 == 0 ? "Tell me about a cat." : "And then?";
    CHECK(talk.say(message).text == other.say(message).text);
  }
}

TEST_CASE("a message that alone is too long is refused, and drops nothing") {
  Talk talk(going_on(ContextEnd::shift), {.context = kContext});
  talk.say("Hi.");
  const std::int64_t length = talk.session.length(0);
  std::string message;
  for (int i = 0; i < 400; ++i) message += "dog ";
  CHECK_THROWS_AS(talk.say(message), ValueError);
  CHECK(talk.session.length(0) == length);
  CHECK(talk.chat.n_dropped() == 0);
}

TEST_CASE("what dropped tokens is saved without its cache") {
  Talk talk(going_on(ContextEnd::window), {.context = kContext});
  while (talk.chat.n_dropped() == 0) talk.say("Tell me about a little dog.");
  const TempFolder folder;
  const std::string path = (folder / "talk").string();
  CHECK_FALSE(talk.chat.save(path));
  Talk other(going_on(ContextEnd::window), {.context = 2 * kContext});
  const Conversation::Loaded loaded = other.chat.load(path);
  CHECK(loaded.n_messages == talk.chat.messages().size());
  CHECK(loaded.n_cached == 0);
}

}  // namespace
}  // namespace weft
