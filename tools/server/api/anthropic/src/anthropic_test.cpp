#include "interface_test_support.h"
#include "request.h"
#include "writer.h"

namespace weft::test {
namespace {

using api::anthropic::chat_turn;

ChatTurn read_chat(std::string_view body) {
  return chat_turn(api::anthropic::fields().read(api::parse_body(body)));
}

TEST_CASE("anthropic: system, blocks and results of tools become messages of a chat") {
  const ChatTurn chat = read_chat(R"({"max_tokens": 5, "system": [{"type": "text",
    "text": "Be kind.", "cache_control": {"type": "ephemeral"}}], "messages": [
    {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "x"},
      {"type": "text", "text": "A moment."},
      {"type": "tool_use", "id": "t1", "name": "w", "input": {"place": "Oslo"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "is_error": true,
      "content": [{"type": "text", "text": "no"}]}, {"type": "text", "text": "Again."}]}]})");
  REQUIRE(chat.messages.size() == 5);
  CHECK(chat.messages[0].role == "system");
  CHECK(chat.messages[0].content == "Be kind.");
  CHECK(chat.messages[1].content == "a\nb");
  CHECK(chat.messages[2].reasoning == "hm");
  CHECK(chat.messages[2].content == "A moment.");
  REQUIRE(chat.messages[2].tool_calls.size() == 1);
  CHECK(chat.messages[2].tool_calls[0].arguments == R"({"place":"Oslo"})");
  CHECK(chat.messages[3].role == "tool");
  CHECK(chat.messages[3].content == "Error: no");
  CHECK(chat.messages[3].tool_call_id == "t1");
  CHECK(chat.messages[4].content == "Again.");
}

TEST_CASE("anthropic: documents and results of searches are text") {
  const ChatTurn chat = read_chat(R"({"max_tokens": 5, "messages": [{"role": "user", "content": [
    {"type": "document", "title": "T", "context": "C",
     "source": {"type": "text", "media_type": "text/plain", "data": "D"}},
    {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "E"}]}},
    {"type": "search_result", "title": "S", "source": "u",
     "content": [{"type": "text", "text": "F"}]},
    {"type": "text", "text": "?"}]}]})");
  REQUIRE(chat.messages.size() == 1);
  CHECK(chat.messages[0].content == "T\nC\nD\nE\nS\nu\nF\n?");
  // So they are within the result of a tool.
  const ChatTurn called = read_chat(R"({"max_tokens": 5, "messages": [
    {"role": "user", "content": "x"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "find"}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [
      {"type": "text", "text": "A"},
      {"type": "document", "title": "T",
       "source": {"type": "text", "media_type": "text/plain", "data": "D"}},
      {"type": "search_result", "title": "S", "source": "u",
       "content": [{"type": "text", "text": "F"}]}]}]}]})");
  REQUIRE(called.messages.size() == 3);
  CHECK(called.messages[2].content == "A\nT\nD\nS\nu\nF");
}

TEST_CASE("anthropic: hosted blocks are skipped, tool references are names, stops are a list") {
  const ChatTurn chat = read_chat(R"({"max_tokens": 5, "messages": [
    {"role": "user", "content": "x"},
    {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "web_search"},
      {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{"url": "u"}]},
      {"type": "text", "text": "Found."}, {"type": "tool_use", "id": "t", "name": "find"}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t",
      "content": [{"type": "tool_reference", "tool_name": "set_lamp"}]}]}]})");
  REQUIRE(chat.messages.size() == 3);
  CHECK(chat.messages[1].content == "Found.");
  CHECK(chat.messages[2].content == "set_lamp");
  const std::string request =
      R"({"max_tokens": 5, "messages": [{"role": "user", "content": "x"}],)";
  CHECK(refusal(api::anthropic::fields(), request + R"("stop_sequences": "a"})") ==
        "stop_sequences");
  CHECK(refusal(api::anthropic::fields(), request + R"("stop_sequences": ["a"]})") == "accepted");
}

TEST_CASE("anthropic: tools, choices, schemas and thinking") {
  const ChatTurn chat = read_chat(R"({"max_tokens": 5,
    "messages": [{"role": "user", "content": "x"}],
    "tools": [{"type": "web_search_20250305", "name": "web_search"},
              {"name": "w", "description": "d", "input_schema": {"type": "object"}}],
    "tool_choice": {"type": "tool", "name": "w", "disable_parallel_tool_use": true},
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "output_config": {"effort": "low", "format": {"type": "json_schema", "schema": {}}}})");
  REQUIRE(chat.tools.size() == 1);
  CHECK(chat.tools[0].definition ==
        R"({"type":"function","function":{"name":"w","description":"d",)"
        R"("parameters":{"type":"object"}}})");
  CHECK(chat.tool_choice.kind == ToolChoice::Kind::named);
  CHECK_FALSE(chat.parallel_calls);
  CHECK(chat.constraint.kind == Constraint::Kind::json_schema);
  CHECK(chat.constraint.place == "output_config.format");
  CHECK(chat.kwargs == R"({"enable_thinking":true,"thinking":true,"reasoning_effort":"low"})");
}

TEST_CASE("anthropic: a line that differs in each request is left out") {
  const auto read = [](const std::string& system) {
    return api::anthropic::chat_fields().read(api::parse_body(
        R"({"messages": [{"role": "user", "content": "x"}], "system": )" + system + "}"));
  };
  const auto request = read(R"([{"type": "text", "text": "x-anthropic-billing-header: cch=1f;"},
                                {"type": "text", "text": "Be brief."}])");
  CHECK(request.system == "Be brief.");
  CHECK(request.has_billing_line);
  for (const char* other : {R"([{"type": "text", "text": "Be brief."}])", "[]",
                            R"([{"type": "refusal", "refusal": "x-anthropic-billing-header: a"}])",
                            R"(["x-anthropic-billing-header: a"])"})
    CHECK_FALSE(read(other).has_billing_line);
  CHECK(read(R"([{"type": "text", "text": "x-anthropic-billing-header: a\nb"}])").system.empty());
  try {
    read(R"([{"type": "text", "text": "x-anthropic-billing-header: a"}, {"type": "text"}])");
    FAIL("accepted");
  } catch (const api::ApiError& error) {
    CHECK(error.param == "system[1].text");
  }
  CHECK(read(R"("x-anthropic-billing-header: mine")").system == "x-anthropic-billing-header: mine");
}

TEST_CASE("anthropic: errors name the field") {
  const std::string ok = R"("messages": [{"role": "user", "content": "x"}])";
  const auto of = [](const std::string& members) {
    return refusal(api::anthropic::fields(), "{" + members + "}");
  };
  CHECK(of(R"("max_tokens": 5)") == "messages");
  CHECK(of(ok) == "max_tokens");
  CHECK(of(ok + R"(, "max_tokens": "x")") == "max_tokens");
  const std::string format = R"({"type": "json_schema", "schema": {}})";
  CHECK(of(ok + R"(, "max_tokens": 5, "output_format": )" + format +
           R"(, "output_config": {"format": )" + format + "}") == "output_format");
  const auto message = [&](const std::string& text) {
    return of(R"("max_tokens": 5, "messages": [)" + text + "]");
  };
  CHECK(message("") == "messages");
  CHECK(message(R"({"role": "wizard", "content": "x"})") == "messages[0].role");
  CHECK(message(R"({"role": "user", "content": 7})") == "messages[0].content");
  CHECK(message(R"({"role": "user", "content": [{"type": "image"}]})") == "messages[0].content[0]");
  CHECK(message(R"({"role": "user", "content": [{"type": "document", "source": {"type": "base64",
        "media_type": "application/pdf", "data": "AA=="}}]})") ==
        "messages[0].content[0].source.type");
  CHECK(message(
            R"({"role": "user", "content": [{"type": "document", "source": {"type": "text"}}]})") ==
        "messages[0].content[0].source.data");
  const auto result = [&](const std::string& part) {
    return message(
        R"({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": [)" +
        part + "]}]}");
  };
  CHECK(result(R"({"type": "document", "source": {"type": "base64", "data": "AA=="}})") ==
        "messages[0].content[0].content[0].source.type");
  CHECK(result(R"({"type": "search_result", "title": "t"})") ==
        "messages[0].content[0].content[0].content");
  CHECK(result(R"({"type": "image"})") == "messages[0].content[0].content[0]");
  for (const std::string type : {"document", "search_result"}) {
    const auto cited = [&](const std::string& citations) {
      return message(R"({"role": "user", "content": [{"type": ")" + type + R"(",
        "content": [{"type": "text", "text": "D"}], "citations": )" +
                     citations + R"(, "source": )" +
                     (type == "document" ? R"({"type": "text", "data": "D"})" : R"("u")") + "}]}");
    };
    CHECK(cited(R"({"enabled": true})") == "messages[0].content[0].citations.enabled");
    CHECK(cited(R"({"enabled": 1})") == "messages[0].content[0].citations.enabled");
    CHECK(cited("[]") == "messages[0].content[0].citations");
    CHECK(cited(R"({"enabled": false})") == "accepted");
    CHECK(cited("{}") == "accepted");
    CHECK(cited("null") == "accepted");
  }
  CHECK(message(R"({"role": "user", "content": [{"type": "search_result", "title": "t"}]})") ==
        "messages[0].content[0].content");
  CHECK(message(R"({"role": "user", "content": [{"type": "text"}]})") ==
        "messages[0].content[0].text");
  CHECK(message(R"({"role": "user", "content": [{"type": "tool_use", "id": "a", "name": "b"}]})") ==
        "messages[0].content[0].type");
  CHECK(of(ok + R"(, "max_tokens": 5, "tools": [{"name": "w"}])") == "tools[0].input_schema");
  CHECK(of(ok + R"(, "max_tokens": 5, "tool_choice": {"type": "tool"})") == "tool_choice.name");
  CHECK(of(ok + R"(, "max_tokens": 5, "mcp_servers": [{"url": "x"}])") == "mcp_servers");
  CHECK(of(ok + R"(, "max_tokens": 5, "metadata": {"user_id": "u"}, "never": [1])") == "accepted");
}

TEST_CASE("anthropic: what was computed up to the last mark counts as written to the cache") {
  const auto usage = [](std::int64_t n_marked, std::int64_t n_moved = 0) {
    Bench bench;
    api::anthropic::Writer writer(bench.call(), false, n_marked);
    writer.on_prompt(0, {.slot = 1, .n_prompt = 20, .n_reused = 8, .n_moved = n_moved});
    writer.on_end(0, {});
    writer.on_done({});
    return bench.answer()["usage"];
  };
  for (const auto& [n_marked, n_written] : {std::pair{19, 11}, {9, 1}, {8, 0}, {3, 0}, {0, 0}}) {
    const api::Json counts = usage(n_marked);
    CHECK(counts["cache_read_input_tokens"] == 8);
    CHECK(counts["cache_creation_input_tokens"] == n_written);
    CHECK(counts["input_tokens"] == 12 - n_written);
    CHECK_FALSE(counts.contains("cache_moved_input_tokens"));
  }
  CHECK(usage(0, 5)["cache_moved_input_tokens"] == 5);
}

TEST_CASE("anthropic: marks are found in messages, system, tools and the request") {
  const auto read = [](const std::string& more) {
    return api::anthropic::fields().read(api::parse_body(R"({"max_tokens": 5, )" + more + "}"));
  };
  const std::string mark = R"("cache_control": {"type": "ephemeral"})";
  const std::string text = R"({"type": "text", "text": "a"})";
  const std::string marked = R"({"type": "text", "text": "a", )" + mark + "}";
  const auto user = [](const std::string& block) {
    return R"({"role": "user", "content": [)" + block + "]}";
  };
  const auto messages = [&](const std::string& a, const std::string& b) {
    return R"("messages": [)" + user(a) + R"(, {"role": "assistant", "content": "b"}, )" + user(b) +
           "]";
  };
  CHECK(read(messages(text, text)).messages.n_marked == 0);
  CHECK(read(messages(marked, text)).messages.n_marked == 1);
  CHECK(read(messages(marked, text + "," + marked)).messages.n_marked == 3);
  CHECK(read(messages(R"({"type": "text", "text": "a", "cache_control": null})", text))
            .messages.n_marked == 0);
  CHECK_FALSE(read(messages(marked, text)).marks_before_messages);
  CHECK(read(messages(text, text) + R"(, "system": [)" + marked + "]").marks_before_messages);
  CHECK(
      read(messages(text, text) + R"(, "tools": [{"name": "w", "input_schema": {}, )" + mark + "}]")
          .marks_before_messages);
  CHECK_FALSE(read(messages(text, text)).marks_all);
  CHECK(read(messages(text, text) + ", " + mark).marks_all);
}

TEST_CASE("anthropic: a stream has the blocks of the whole answer") {
  Bench bench;
  api::anthropic::Writer whole(bench.call(), false);
  full_script().play(whole);
  const api::Json answer = bench.answer();
  CHECK(answer["stop_reason"] == "tool_use");
  CHECK(answer["stop_sequence"].is_null());
  CHECK(answer["usage"]["input_tokens"] == 12);
  CHECK(answer["usage"]["cache_read_input_tokens"] == 8);
  CHECK(answer["usage"]["output_tokens"] == 9);
  REQUIRE(answer["content"].size() == 3);
  CHECK(answer["content"][0]["thinking"] == "Hm.");
  CHECK(answer["content"][1]["text"] == "It is\n\"on\".");
  CHECK(answer["content"][2]["input"]["on"] == true);

  Bench streaming;
  api::anthropic::Writer stream(streaming.call(), true);
  full_script().play(stream);
  std::vector<api::Json> blocks;
  std::string kinds;
  for (const Bench::Event& event : streaming.events()) {
    CHECK(event.name == event.data["type"].get<std::string>());
    kinds += event.name.substr(0, event.name.find("_b")) + " ";
    if (event.name == "content_block_start") {
      CHECK(event.data["index"] == blocks.size());
      blocks.push_back(event.data["content_block"]);
      if (blocks.back()["type"] == "tool_use") blocks.back()["input"] = "";
    } else if (event.name == "content_block_delta") {
      CHECK(event.data["index"] == blocks.size() - 1);
      for (const auto& [member, value] : event.data["delta"].items()) {
        if (member == "type") continue;
        api::Json& target = blocks.back()[member == "partial_json" ? "input" : member];
        target = target.get<std::string>() + value.get<std::string>();
      }
    } else if (event.name == "message_delta") {
      CHECK(event.data["delta"]["stop_reason"] == "tool_use");
      CHECK(event.data["usage"]["output_tokens"] == 9);
    }
  }
  REQUIRE(blocks.size() == 3);
  CHECK(blocks[0] == answer["content"][0]);
  CHECK(blocks[1] == answer["content"][1]);
  CHECK(api::parse_json(blocks[2]["input"].get<std::string>()) == answer["content"][2]["input"]);
}

TEST_CASE("anthropic: a call that was cut is not a call of the whole answer") {
  Script script;
  script.events = {content("x"),
                   {ReplyEvent::Kind::call_begin, "f", 0, ""},
                   {ReplyEvent::Kind::call_arguments, "{\"a", 0, ""}};
  script.end = {.reason = api::ChoiceEnd::Reason::length, .stop = StopReason::max_tokens};
  Bench bench;
  api::anthropic::Writer writer(bench.call(), false);
  script.play(writer);
  CHECK(bench.answer()["content"].size() == 1);
  CHECK(bench.answer()["stop_reason"] == "max_tokens");
}

}  // namespace
}  // namespace weft::test
