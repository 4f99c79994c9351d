// Conversations: which tokens are computed again, and what becomes of messages and calls.
#include "weft/serve/conversation.h"

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/run/nan_error.h"
#include "weft/serve/speculation.h"

#include "conversation/conversation_test_support.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using test::encoded;
using test::greedy;
using test::Said;
using test::Talk;

TEST_CASE("a turn computes what is new, and nothing else") {
  Talk talk(greedy(12));
  const Said first = talk.say("Tell me a story.");
  CHECK(talk.chat.last_prompt().tokens == encoded(talk.chat, {"Be brief.", "Tell me a story."}));
  CHECK(talk.chat.last_reply().tokens == 12);
  CHECK(first.stop == StopReason::max_tokens);
  CHECK_FALSE(first.text.empty());
  REQUIRE(talk.chat.messages().size() == 3);
  CHECK(talk.chat.messages()[0].role == "system");
  CHECK(talk.chat.messages()[1].content == "Tell me a story.");
  CHECK(talk.chat.messages()[2].role == "assistant");
  CHECK(talk.chat.messages()[2].content == first.text);
  const std::int64_t before = talk.session.length(0);
  CHECK(before == talk.chat.last_prompt().tokens + 12);  // the last token was fed, too

  Talk fresh(greedy(12));
  fresh.take_over(talk.chat, 3);
  const Said second = talk.say("Who was it about?");
  const std::int64_t fed = talk.chat.last_prompt().tokens;
  CHECK(talk.session.length(0) == before + fed + talk.chat.last_reply().tokens);
  CHECK(fed < 30);

  // The same conversation computed anew.
  CHECK(fresh.say("Who was it about?").text == second.text);
  CHECK(fresh.chat.last_prompt().tokens == before + fed);
}

TEST_CASE("a message that is taken back leaves what came before it in the sequence") {
  Talk talk(greedy(10));
  CHECK(talk.chat.undo_turn().empty());
  talk.say("Tell me a story.");
  const std::int64_t first_turn = talk.session.length(0);
  const Said second = talk.say("Who was it about?");
  CHECK(talk.chat.undo_turn() == "Who was it about?");
  CHECK(talk.chat.messages().size() == 3);
  CHECK(talk.say("Who was it about?").text == second.text);
  CHECK(talk.chat.last_prompt().tokens == 1);  // the last one, for its logits
  talk.chat.undo_turn();
  talk.say("And then?");
  CHECK(talk.session.length(0) - talk.chat.last_reply().tokens - talk.chat.last_prompt().tokens >=
        first_turn);
  talk.chat.undo_turn();
  CHECK(talk.chat.undo_turn() == "Tell me a story.");
  CHECK(talk.chat.undo_turn().empty());
  CHECK(talk.chat.messages().size() == 1);  // the system prompt
}

TEST_CASE("what stays of a conversation is not computed again, whichever tokens were drawn") {
  ConversationOptions options = greedy(30);
  options.sampler = {.seed = 3, .temperature = 5};  // few of them are the tokenizer's for the text
  Talk talk(options);
  talk.say("Tell me a story.");
  const std::int64_t first_turn = talk.session.length(0);
  for (int i = 0; i < 3; ++i) {
    talk.say("Who was it about?");
    CHECK(talk.chat.last_reused() >= first_turn);
    talk.chat.undo_turn();
    talk.say("Who was it about?");
    CHECK(talk.chat.last_prompt().tokens == 1);
    talk.chat.undo_turn();
    talk.say("And then?");
    CHECK(talk.chat.last_reused() >= first_turn);
    talk.chat.undo_turn();
  }
}

TEST_CASE("with recurrent states, too, only what is new after a message that was taken back") {
  const SessionOptions marks{.context = 4096, .kept = 6, .checkpoint_every = 4096};
  ConversationOptions options = greedy(-1);
  options.constraint = {.kind = Constraint::Kind::regex, .text = "[a-z ]{500}"};
  Talk talk(options, marks, test::recurrent_stories());
  std::int64_t before = 0;
  for (int turn = 0; turn < 9; ++turn) {  // older marks make way
    const Said said = talk.say("Tell me a story.");
    REQUIRE(talk.chat.last_reply().tokens > 70);
    CHECK(talk.chat.last_reused() == before);
    talk.chat.undo_turn();
    CHECK(talk.say("Tell me a story.").text == said.text);
    CHECK(talk.chat.last_prompt().tokens == 1);
    talk.chat.undo_turn();
    talk.say("Who was it about?");
    CHECK(talk.chat.last_reused() >= before);
    CHECK(talk.chat.last_prompt().tokens < 40);
    before = talk.session.length(0);
  }
  Talk bare(options, {.context = 4096}, test::recurrent_stories());  // without room for marks
  bare.say("Tell me a story.");
  bare.chat.undo_turn();
  bare.say("Tell me a story.");
  CHECK(bare.chat.last_prompt().tokens > 1);
}

TEST_CASE("a conversation that was reset repeats its draws and reuses the common beginning") {
  ConversationOptions options = greedy(10);
  options.sampler = {.seed = 4, .temperature = 1.5F};
  Talk talk(options);
  const Said first = talk.say("Tell me a story.");
  talk.chat.undo_turn();
  CHECK(talk.say("Tell me a story.").text != first.text);  // the draws went on
  talk.chat.reset();
  CHECK(talk.chat.messages().size() == 1);
  CHECK(talk.say("Tell me a story.").text == first.text);
  CHECK(talk.chat.last_prompt().tokens == 1);
  talk.chat.set_system("");
  CHECK(talk.chat.messages().empty());
  talk.say("Tell me a story.");
  CHECK(talk.chat.messages().size() == 2);
  CHECK(talk.chat.last_prompt().tokens > 1);  // without the system prompt all of it moved
}

TEST_CASE("a message that does not fit, or that the template refuses, is forgotten") {
  ConversationOptions options = greedy(8);
  options.chat_template = make_chat_template(
      "{% for m in messages %}{% if m.content == 'bad' %}{{ raise_exception('not that') }}"
      "{% endif %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
      "<|im_start|>assistant\n");
  Talk talk(options), other(options);
  talk.say("Tell me a story.");
  other.say("Tell me a story.");
  std::string much;
  for (int i = 0; i < 200; ++i) much += "Tell me a story. ";
  CHECK_THROWS_AS(talk.say(much), ValueError);
  CHECK_THROWS_AS(talk.say("bad"), ChatTemplateError);
  CHECK(talk.chat.messages().size() == 3);
  CHECK(talk.say("Who was it about?").text == other.say("Who was it about?").text);
  CHECK(talk.chat.last_prompt().tokens == other.chat.last_prompt().tokens);
}

TEST_CASE("a reply ends when the context is full, and stays") {
  ConversationOptions options = greedy(-1);
  options.rules.banned = {"<|im_end|>"};
  options.constraint = {.kind = Constraint::Kind::regex, .text = "[a-z ]{500}"};  // never ends
  Talk talk(options, {.context = 64});
  const Said said = talk.say("Tell me a story.");
  CHECK(said.stop == StopReason::context_full);
  CHECK(talk.session.length(0) == 64);
  CHECK(talk.chat.messages().back().content == said.text);
  CHECK_THROWS_AS(talk.say("Who was it about?"), ValueError);
  talk.chat.reset();
  CHECK(talk.say("Tell me a story.").text == said.text);
}

TEST_CASE("a message that is cancelled before its reply is forgotten, half a reply stays") {
  std::atomic<bool> flag{true};
  ConversationOptions options = greedy(20);
  options.cancel = &flag;
  Talk talk(options);
  CHECK(talk.say("Tell me a story.").stop == StopReason::cancelled);
  CHECK(talk.chat.messages().size() == 1);
  flag = false;

  std::string text;
  const auto stop_after_first = [&](const ReplyEvent& event) {
    text += event.text;
    talk.chat.cancel();
  };
  CHECK(talk.chat.say("Tell me a story.", stop_after_first) == StopReason::cancelled);
  CHECK(flag);
  CHECK_FALSE(text.empty());
  REQUIRE(talk.chat.messages().size() == 3);
  CHECK(talk.chat.messages().back().content == text);
  flag = false;
  Talk fresh(greedy(20));
  fresh.take_over(talk.chat, 3);
  CHECK(talk.say("Go on.").text == fresh.say("Go on.").text);
  CHECK(talk.chat.last_prompt().tokens < fresh.chat.last_prompt().tokens);
}

TEST_CASE("stop strings and a grammar hold for every reply") {
  ConversationOptions options = greedy(-1);
  options.constraint = {.kind = Constraint::Kind::regex, .text = "(yes|no), [a-z]{3} [a-z]{3}\\."};
  const auto grammar = Grammar::from_regex(options.constraint.text);
  Talk plain(options);
  const Said whole = plain.say("Is it so?");
  CHECK(whole.stop == StopReason::complete);
  CHECK(grammar->accepts(whole.text));
  CHECK(grammar->accepts(plain.say("Really?").text));

  options.rules.stops = {", "};
  Talk stopping(options);
  for (const char* message : {"Is it so?", "Really?"}) {
    const Said said = stopping.say(message);
    CHECK(said.stop == StopReason::stop_string);
    CHECK((said.text == "yes" || said.text == "no"));
    CHECK(stopping.chat.messages().back().content == said.text);  // not the stop string
  }
  // The stop string is in the sequence but not in the text: the next turn must not go on from it.
  Talk fresh(options);
  fresh.take_over(stopping.chat, 5);
  CHECK(stopping.say("Sure?").text == fresh.say("Sure?").text);
  CHECK(stopping.session.length(0) == fresh.session.length(0));
}

// All that is generated is this text.
Constraint exactly(std::string_view text) {
  std::string literal;
  for (const char c : text) {
    if (c == '"' || c == '\\') literal += '\\';
    literal += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return {.kind = Constraint::Kind::gbnf, .text = "root ::= \"" + literal + '"'};
}

// Shows calls in the notation that most models use. The reply is two of them.
ConversationOptions with_calls() {
  ConversationOptions options = greedy(-1);
  options.chat_template = make_chat_template(
      "{% if tools %}<tools>{{ tools | tojson }}</tools>\n"
      "For a call write <tool_call>{\"name\": NAME, \"arguments\": ARGUMENTS}</tool_call>\n"
      "{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
      "{% for c in m.tool_calls or [] %}<tool_call>\n{{ c.function | tojson }}\n</tool_call>"
      "{% endfor %}<|im_end|>\n{% endfor %}<|im_start|>assistant\n");
  options.tools = R"([{"type": "function", "function": {"name": "look"}}])";
  const auto call = [](const std::string& at) {
    return "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"at\": \"" + at +
           "\"}}\n</tool_call>";
  };
  options.constraint = exactly(call("sun") + "\n" + call("sky"));
  return options;
}

TEST_CASE("calls wait for their results one by one, and the model continues after the last") {
  Talk talk(with_calls(), {.context = 1024});
  CHECK(talk.chat.open_calls().empty());
  std::vector<ReplyEvent::Kind> kinds;
  talk.chat.say("Look!", [&](const ReplyEvent& event) { kinds.push_back(event.kind); });
  CHECK(std::ranges::count(kinds, ReplyEvent::Kind::call_end) == 2);
  auto open = talk.chat.open_calls();
  REQUIRE(open.size() == 2);
  CHECK(open[0].name == "look");
  CHECK(open[0].arguments == R"({"at": "sun"})");
  CHECK(open[1].arguments == R"({"at": "sky"})");
  CHECK_FALSE(open[0].id.empty());
  CHECK(open[0].id != open[1].id);
  const std::int64_t length = talk.session.length(0);
  CHECK(talk.chat.answer_call("bright", [](const ReplyEvent&) {}) == StopReason::none);
  CHECK(talk.session.length(0) == length);  // nothing was computed
  REQUIRE(talk.chat.open_calls().size() == 1);
  CHECK(talk.chat.open_calls()[0].id == open[1].id);
  CHECK(talk.chat.answer_call("blue", [](const ReplyEvent&) {}) == StopReason::complete);
  REQUIRE(talk.chat.messages().size() == 6);
  CHECK(talk.chat.messages()[3].role == "tool");
  CHECK(talk.chat.messages()[3].tool_call_id == open[0].id);
  CHECK(talk.chat.messages()[3].name == "look");
  CHECK(talk.chat.messages()[4].content == "blue");
  CHECK(talk.chat.open_calls().size() == 2);  // calls of the new reply
  CHECK(talk.chat.undo_turn() == "Look!");
  CHECK(talk.chat.open_calls().empty());
}

TEST_CASE("a call that the template does not show is in the prompt as the model wrote it") {
  ConversationOptions options = greedy(-1);
  options.chat_template = make_chat_template(
      "{% if tools %}List of tools: {{ tools | tojson }}\n{% endif %}"
      "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
      "{{ '<|im_start|>assistant\n' }}");
  options.tools = R"([{"type": "function", "function": {"name": "look"}}])";
  options.constraint =
      exactly(R"(<|tool_call_start|>[look(at="sun", near=True)]<|tool_call_end|>)");
  Talk talk(options, {.context = 1024});
  talk.say("Look!");
  const std::int64_t length = talk.session.length(0);
  REQUIRE(talk.chat.open_calls().size() == 1);
  CHECK(talk.chat.open_calls()[0].arguments == R"({"at": "sun", "near": true})");
  talk.chat.answer_call("bright", [](const ReplyEvent&) {});
  // The text goes on from the reply, so that none of its tokens are computed again.
  CHECK(talk.chat.last_prompt().tokens ==
        talk.session.length(0) - length - talk.chat.last_reply().tokens);
}

TEST_CASE("a call can be forced, and what follows its result is free") {
  ConversationOptions options = with_calls();
  options.constraint = {};
  options.max_reply = 200;
  options.tools = R"([{"function": {"name": "look", "parameters": {"properties":
      {"at": {"enum": ["sun"]}}, "required": ["at"], "additionalProperties": false}}},
      {"function": {"name": "listen", "parameters": {"properties": {},
       "additionalProperties": false}}}])";
  options.tool_choice = {ToolChoice::Kind::named, "look"};
  options.parallel_calls = false;
  Talk talk(options, {.context = 1024});
  CHECK(talk.say("Hello").stop == StopReason::complete);
  REQUIRE(talk.chat.open_calls().size() == 1);
  CHECK(talk.chat.open_calls()[0].arguments.find("sun") != std::string::npos);
  const std::string first_id = talk.chat.open_calls()[0].id;
  CHECK(talk.chat.answer_call("bright", [](const ReplyEvent&) {}) != StopReason::complete);

  talk.chat.set_tool_choice({ToolChoice::Kind::required});
  talk.say("Hello");
  REQUIRE(talk.chat.open_calls().size() == 1);
  CHECK(talk.chat.open_calls()[0].id != first_id);
  CHECK_THROWS_AS(talk.chat.set_tool_choice({ToolChoice::Kind::named, "fly"}), ValueError);
}

TEST_CASE("a reply begins with its prefill, and the next turn continues from there") {
  Talk talk(greedy(8));
  std::string shown;
  talk.chat.say(
      "Tell me a story.", [&](const ReplyEvent& event) { shown += event.text; },
      "Once upon a time, Pip");
  CHECK(shown.starts_with("Once upon a time, Pip"));
  CHECK(shown.size() > 21);
  CHECK(talk.chat.messages().back().content == shown);
  const std::int64_t length = talk.session.length(0);
  Talk fresh(greedy(8));
  fresh.take_over(talk.chat, 3);
  CHECK(talk.say("Go on.").text == fresh.say("Go on.").text);
  CHECK(talk.session.length(0) - talk.chat.last_prompt().tokens - talk.chat.last_reply().tokens ==
        length);
}

TEST_CASE("a message that is cancelled before its reply goes, also if the reply has a prefill") {
  std::atomic<bool> flag{false};
  ConversationOptions options = greedy(20);
  options.cancel = &flag;
  Talk talk(options);
  const std::size_t before = talk.chat.messages().size();
  const auto cancel = [&](const ReplyEvent&) { flag = true; };
  CHECK(talk.chat.say("Tell me a story.", cancel, "Once upon") == StopReason::cancelled);
  CHECK(talk.chat.messages().size() == before);

  options.constraint = {.kind = Constraint::Kind::regex, .text = "[a-z]+"};
  Talk held(options);
  flag = false;
  CHECK_THROWS_AS(held.chat.say("Go on.", cancel, "Once"), ValueError);
  CHECK(held.chat.messages().size() == before);
}

TEST_CASE("a conversation refuses a malformed constraint, tools and choice at once") {
  Session session(test::stories(), {.context = 64});
  ConversationOptions options = greedy(4);
  options.constraint = {.kind = Constraint::Kind::regex, .text = "("};
  CHECK_THROWS_AS(Conversation(session, 0, options), FormatError);
  options = greedy(4);
  options.tools = "{}";
  CHECK_THROWS_AS(Conversation(session, 0, options), FormatError);
  options = greedy(4);
  options.tool_choice = {ToolChoice::Kind::required};
  CHECK_THROWS_AS(Conversation(session, 0, options), ValueError);
  options = greedy(4);
  options.rules.grammar = Grammar::from_regex("a");
  CHECK_THROWS_AS(Conversation(session, 0, options), ValueError);
}

TEST_CASE("a model without a template or a tokenizer has no conversations") {
  Session session(test::tiny_model(), {.context = 64});
  CHECK_THROWS_AS(Conversation(session, 0, {}), UnsupportedError);
  Session stories(test::stories(), {.context = 64});
  CHECK_THROWS_AS(Conversation(stories, 1, {}), ValueError);
}

TEST_CASE("a reply that fails leaves no guesses in its sequence") {
  const auto model = test::stories();
  Session session(model, {.context = 256});
  const Speculation speculation(
      session, {.kinds = {DraftKind::model}, .adaptive = false, .draft_model = model});
  ConversationOptions options = greedy(40);
  options.draft = speculation.draft();
  std::int64_t n_dropped = 0;
  for (int shown = 1; shown <= 8; ++shown) {
    session.truncate(0, 0);
    Conversation chat(session, 0, options);
    std::int64_t length = 0;
    int left = shown;
    const auto fail_at = [&](const ReplyEvent&) {
      length = session.length(0);
      if (--left == 0) throw NanError("cannot show it");
    };
    CHECK_THROWS_AS(chat.say("Tell me a story.", fail_at), NanError);
    CHECK(session.length(0) <= length);
    n_dropped += length - session.length(0);
  }
  CHECK(n_dropped > 0);
}

}  // namespace
}  // namespace weft
