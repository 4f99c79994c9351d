#include "weft/chat/reply_reader.h"

#include <doctest/doctest.h>

#include "weft/chat/reply_sink.h"

namespace weft {
namespace {

ReplyReading reading_of(bool certain) {
  return {.syntax = {"think", "hermes"},
          .options = {.tools = R"([{"function": {"name": "f"}}])"},
          .certain_calls = certain,
          .new_id = [n = 0]() mutable { return "id" + std::to_string(n++); }};
}

struct Read {
  MessageBuilder message;
  std::vector<ReplyEvent> events;
  int n_calls = 0;
};

Read read_reply(const ReplyReading& reading, std::string_view text, bool truncated = false) {
  ReplyReader reader(reading);
  Read read;
  const auto keep = [&](const std::vector<ReplyEvent>& events) {
    read.message.take(events);
    read.events.insert(read.events.end(), events.begin(), events.end());
  };
  for (const char c : text) keep(reader.push({&c, 1}));
  keep(reader.finish(truncated));
  read.n_calls = reader.n_calls();
  return read;
}

constexpr std::string_view kCall =
    "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>";

TEST_CASE("a reply becomes a message with calls that have ids") {
  for (const bool certain : {false, true}) {
    const Read read = read_reply(
        reading_of(certain), "<think>Hm</think>Well " + std::string(kCall) + std::string(kCall));
    const ChatMessage message = read.message.whole_message();
    CHECK(message.reasoning == "Hm");
    CHECK(message.content == "Well");
    REQUIRE(message.tool_calls.size() == 2);
    CHECK(message.tool_calls[0].id == "id0");
    CHECK(message.tool_calls[1].id == "id1");
    CHECK(message.tool_calls[1].arguments == "{\"a\": 1}");
    CHECK(read.n_calls == 2);
    for (const ReplyEvent& event : read.events)
      if (event.kind == ReplyEvent::Kind::call_begin || event.kind == ReplyEvent::Kind::call_end)
        CHECK(event.id == "id" + std::to_string(event.call));
  }
}

TEST_CASE("an id that the model gives is the call's, even after the arguments") {
  const Read read =
      read_reply(reading_of(false),
                 "<tool_call>{\"name\": \"f\", \"arguments\": {}, \"id\": \"own\"}</tool_call>" +
                     std::string(kCall));
  CHECK(read.events.front().id == "own");
  CHECK(read.message.message().tool_calls[0].id == "own");
  CHECK(read.message.message().tool_calls[1].id == "id0");
}

TEST_CASE("an incomplete call is content, or stays as it is if the grammar enforced it") {
  const std::string text = std::string(kCall) + "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"";
  const Read free = read_reply(reading_of(false), text);
  CHECK(free.message.message().tool_calls.size() == 1);
  CHECK(free.message.message().content.find("<tool_call>") != std::string::npos);
  const Read enforced = read_reply(reading_of(true), text);
  CHECK(enforced.message.message().content.empty());
  CHECK(enforced.message.message().tool_calls.size() == 2);
  CHECK(enforced.message.whole_message().tool_calls.size() == 1);
  CHECK(enforced.n_calls == 1);
}

TEST_CASE("the beginning of a call that a limit cut off is not content") {
  for (const std::string_view cut :
       {"<tool_", "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a"}) {
    const Read read =
        read_reply(reading_of(false), std::string(kCall) + "\n" + std::string(cut), true);
    CHECK(read.message.message().content.empty());
    CHECK(read.message.message().tool_calls.size() == 1);
    CHECK(
        read_reply(reading_of(false), "Hm. " + std::string(cut), true).message.message().content ==
        "Hm.");
  }
  // As content it would be half an answer.
  CHECK(read_reply(reading_of(false), "a <", true).message.message().content == "a <");
}

TEST_CASE("a call that must come is not content wherever it is cut") {
  const struct {
    const char *syntax, *call;
  } kCases[] = {
      {"hermes", "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</tool_call>"},
      {"json", "{\"name\": \"f\", \"arguments\": {\"a\": 1}}"},
      {"mistral", "[TOOL_CALLS][{\"name\": \"f\", \"arguments\": {\"a\": 1}}]"},
      {"qwen3-coder", "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>"},
      {"harmony", "<|channel|>commentary to=functions.f<|message|>{\"a\": 1}"},
      {"functionary-v3.2", ">>>f\n{\"a\": 1}"},
      {"lfm2", "<|tool_call_start|>[f(a=1)]"},
  };
  for (const auto& [syntax, call] : kCases) {
    ReplyReading reading = reading_of(true);
    reading.syntax.calls = syntax;
    reading.only_calls = true;
    CAPTURE(syntax);
    const std::string_view text = call;
    for (std::size_t n = 0; n <= text.size(); ++n) {
      CAPTURE(text.substr(0, n));
      for (const bool truncated : {true, false}) {
        const Read read = read_reply(reading, text.substr(0, n), truncated);
        CHECK(read.message.message().content.empty());
        CHECK(read.message.message().tool_calls.size() <= 1);
      }
    }
    CHECK(read_reply(reading, text).message.whole_message().tool_calls.size() == 1);
  }
  // Reasoning stays.
  ReplyReading reading = reading_of(true);
  reading.only_calls = true;
  const Read read = read_reply(reading, "<think>Hm.</think>\n<", true);
  CHECK(read.message.message().reasoning == "Hm.");
  CHECK(read.message.message().content.empty());
}

TEST_CASE("early calls come while they are written, and malformed ones are withdrawn") {
  ReplyReading reading = reading_of(false);
  reading.early_calls = true;
  ReplyReader reader(reading);
  reader.push("<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": ");
  const auto more = reader.push("12");
  REQUIRE(more.size() == 1);
  CHECK(more[0] == ReplyEvent{ReplyEvent::Kind::call_arguments, "12", 0});
  const std::string bad = "<tool_call>{\"name\": \"f\", \"arguments\": {\"a\": oops";
  const Read read = read_reply(reading, bad + std::string(kCall));
  const ChatMessage message = read.message.whole_message();
  CHECK(message.content == bad);
  REQUIRE(message.tool_calls.size() == 1);
  CHECK(message.tool_calls[0].arguments == "{\"a\": 1}");
  CHECK(read.n_calls == 1);
  // The number of the dropped call is not used again.
  CHECK(read.events.back().call == 1);
  const Read cut = read_reply(reading, "<tool_call>{\"name\": \"f\", \"arguments\": {", true);
  CHECK(cut.message.message().tool_calls.size() == 1);
  CHECK(cut.message.whole_message().tool_calls.empty());
  CHECK(cut.message.message().content.empty());
}

TEST_CASE("without a notation everything is content") {
  const Read read = read_reply({}, "<think>a</think>" + std::string(kCall));
  CHECK(read.message.message().content == "<think>a</think>" + std::string(kCall));
}

}  // namespace
}  // namespace weft
