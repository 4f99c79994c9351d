#include "input.h"
#include "interface_test_support.h"
#include "item_references.h"
#include "request.h"
#include "response.h"
#include "store.h"
#include "writer.h"

namespace weft::test {
namespace {

using api::responses::chat_turn;
using api::responses::response_json;
using api::responses::Store;

api::responses::Request read_request(std::string_view body) {
  return api::responses::fields().read(api::parse_body(body));
}

TEST_CASE("responses: items become messages of a chat") {
  const auto request = read_request(R"({"instructions": "One.", "input": [
    {"role": "developer", "content": "Two."},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Lamp on."}]},
    {"type": "reasoning", "id": "rs_1", "summary": [],
     "content": [{"type": "reasoning_text", "text": "hm"}]},
    {"type": "function_call", "call_id": "c1", "name": "set_lamp", "arguments": "{\"on\":true}"},
    {"type": "function_call", "call_id": "c2", "name": "look", "arguments": ""},
    {"type": "function_call_output", "call_id": "c1", "output": "done"},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "x"}]},
    {"role": "assistant", "content": [{"type": "output_text", "text": "It is on."}]}]})");
  const ChatTurn chat = chat_turn(request, {});
  REQUIRE(chat.messages.size() == 6);
  CHECK(chat.messages[0].role == "system");
  CHECK(chat.messages[0].content == "One.\n\nTwo.");
  CHECK(chat.messages[1].content == "Lamp on.");
  CHECK(chat.messages[2].reasoning == "hm");
  REQUIRE(chat.messages[2].tool_calls.size() == 2);
  CHECK(chat.messages[2].tool_calls[1].arguments == "{}");
  CHECK(chat.messages[3].tool_call_id == "c1");
  CHECK(chat.messages[4].content == "x");
  CHECK(chat.messages[5].content == "It is on.");
}

TEST_CASE("responses: calls of tools that the client runs are read, hosted ones are skipped") {
  const auto request = read_request(R"({"input": [{"role": "user", "content": "Hi"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "q"}},
    {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": "*** Begin"},
    {"type": "local_shell_call", "call_id": "c2", "action": {"command": ["ls"]}},
    {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok"},
    {"type": "shell_call_output", "call_id": "c2", "output": [{"stdout": "a", "stderr": ""}]}]})");
  const ChatTurn chat = chat_turn(request, {});
  REQUIRE(chat.messages.size() == 4);
  REQUIRE(chat.messages[1].tool_calls.size() == 2);
  CHECK(chat.messages[1].tool_calls[0].arguments == R"({"input":"*** Begin"})");
  CHECK(chat.messages[1].tool_calls[1].name == "local_shell");
  CHECK(chat.messages[1].tool_calls[1].arguments == R"({"command":["ls"]})");
  CHECK(chat.messages[2].content == "ok");
  CHECK(chat.messages[3].content == R"([{"stdout":"a","stderr":""}])");
}

TEST_CASE("responses: references stand for items of responses that are kept") {
  Store store;
  store.begin("resp_1", "{}");
  store.finish("resp_1", R"({"output": [{"type": "message", "id": "msg_1", "role": "assistant",
    "content": [{"type": "output_text", "text": "Ho"}]}]})",
               {});
  const auto resolved = [&](const char* reference) {
    const std::string body =
        std::string(R"({"input": [{"role": "user", "content": "Hi"}, )") + reference + "]}";
    const auto json =
        api::responses::with_items(std::make_shared<const api::Json>(api::parse_body(body)), store);
    return api::responses::fields().read(*json);
  };
  for (const char* reference :
       {R"({"type": "item_reference", "id": "msg_1"})", R"({"id": "msg_1"})"})
    CHECK(resolved(reference).input.at(1).content == "Ho");
  const auto refused = [&](const char* reference) {
    try {
      resolved(reference);
    } catch (const api::ApiError& error) {
      return error.param;
    }
    return std::string("accepted");
  };
  CHECK(refused(R"({"type": "item_reference", "id": "msg_2"})") == "input[1].id");
  CHECK(refused(R"({"type": "item_reference"})") == "input[1].id");
  CHECK(refused(R"({"type": "no_such_item"})") == "input[1].type");
  CHECK(store.remove("resp_1"));
  CHECK(!store.item("msg_1"));
}

TEST_CASE("responses: many references to a long item are refused") {
  Store store;
  store.begin("resp_1", "{}");
  store.finish(
      "resp_1",
      R"({"output": [{"type": "message", "id": "msg_1", "role": "assistant", "content": ")" +
          std::string(1 << 20, 'x') + R"("}]})",
      {});
  std::string body = R"({"input": [{"id": "msg_1"})";
  for (int i = 1; i < 40; ++i) body += R"(, {"id": "msg_1"})";
  try {
    api::responses::with_items(std::make_shared<const api::Json>(api::parse_body(body + "]}")),
                               store);
    FAIL("accepted");
  } catch (const api::ApiError& error) {
    CHECK(error.param == "input[31].id");
    CHECK(std::string(error.what()).ends_with("have more than 33554432 bytes"));
  }
}

TEST_CASE("responses: an earlier conversation comes first, and its instructions do not") {
  const auto request = read_request(R"({"input": "And then?", "instructions": "Now."})");
  const ChatTurn chat = chat_turn(
      request, {{.role = "user", .content = "Hi"}, {.role = "assistant", .content = "Ho"}});
  REQUIRE(chat.messages.size() == 4);
  CHECK(chat.messages[0].content == "Now.");
  CHECK(chat.messages[3].content == "And then?");
}

TEST_CASE("responses: tools of other types are skipped, formats and echoes are kept") {
  const auto request = read_request(R"({"input": "x", "top_p": 0.5, "metadata": {"k": "v"},
    "tools": [{"type": "web_search"}, {"type": "custom", "name": "p"},
              {"type": "function", "name": "f", "parameters": {"type": "object"}}],
    "tool_choice": {"type": "function", "name": "f"},
    "text": {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}}})");
  REQUIRE(request.tools.size() == 1);
  CHECK(request.tools[0].name == "f");
  CHECK(request.tool_choice.kind == ToolChoice::Kind::named);
  CHECK(request.constraint.kind == Constraint::Kind::json_schema);
  CHECK(request.tool_choice_json == R"({"type":"function","name":"f"})");
  const auto kept = std::make_shared<const api::responses::Request>(request);
  const api::Json json =
      api::parse_json(response_json({"resp_1", 5, "tiny", kept}, {.output = "[]"}));
  CHECK(json["tools"].size() == 3);
  CHECK(json["top_p"] == 0.5);
  CHECK(json["metadata"]["k"] == "v");
  CHECK(json["text"]["format"]["schema"]["type"] == "object");
  CHECK(json["instructions"].is_null());
  CHECK(json["incomplete_details"].is_null());
}

TEST_CASE("responses: errors name the field") {
  const auto of = [](const std::string& body) { return refusal(api::responses::fields(), body); };
  CHECK(of("{}") == "input");
  CHECK(of(R"({"input": 5})") == "input");
  CHECK(of(R"({"input": []})") == "input");
  CHECK(of(R"({"input": "x", "max_output_tokens": "x"})") == "max_output_tokens");
  CHECK(of(R"({"input": [{"role": "user", "content": [{"type": "input_image"}]}]})") ==
        "input[0].content[0]");
  CHECK(of(R"({"input": [{"role": "user"}]})") == "input[0].content");
  CHECK(of(R"({"input": [{"type": "item_reference", "id": "x"}]})") == "input[0].type");
  CHECK(of(R"({"input": "x", "background": true})") == "background");
  CHECK(of(R"({"input": "x", "include": ["message.output_text.logprobs", "secrets"]})") ==
        "include[1]");
  CHECK(of(R"({"input": "x", "text": {"format": {"type": "json_schema", "name": "n"}}})") ==
        "text.format.schema");
  CHECK(of(R"({"input": "x", "include": ["reasoning.encrypted_content"], "prompt_cache_key": "k",
    "reasoning": {"effort": "low", "summary": "auto"}, "text": {"verbosity": "low"}})") ==
        "accepted");
}

std::shared_ptr<const api::responses::Response> response(bool stream) {
  auto request = std::make_shared<api::responses::Request>(read_request(R"({"input": "x"})"));
  request->stream = stream;
  return std::make_shared<api::responses::Response>(
      api::responses::Response{"resp_1", 5, "tiny", request});
}

TEST_CASE("responses: a stream ends with the whole answer, and its deltas make the same") {
  std::string kept;
  ChatMessage answer;
  const auto keep = [&](std::string json, ChatMessage message) {
    kept = std::move(json);
    answer = std::move(message);
  };
  Bench bench, streaming;
  api::responses::Writer whole(bench.call(), response(false), keep);
  full_script().play(whole);
  CHECK(api::parse_json(kept) == bench.answer());
  CHECK(answer.content == "It is\n\"on\".");
  CHECK(answer.reasoning == "Hm.");
  REQUIRE(answer.tool_calls.size() == 1);
  CHECK(answer.tool_calls[0].arguments == R"({"on":true})");

  api::responses::Writer stream(streaming.call(), response(true), keep);
  full_script().play(stream);
  std::vector<std::string> texts;
  std::int64_t number = 0;
  api::Json last;
  for (const Bench::Event& event : streaming.events()) {
    CHECK(event.name == event.data["type"].get<std::string>());
    CHECK(event.data["sequence_number"] == number++);
    if (event.name == "response.output_item.added") texts.emplace_back();
    if (event.name.ends_with(".delta")) texts.back() += event.data["delta"].get<std::string>();
    if (event.data.contains("response")) last = event.data["response"];
  }
  CHECK(last["status"] == "completed");
  const api::Json& output = last["output"];
  REQUIRE(output.size() == 3);
  CHECK(output[0]["content"][0]["text"] == texts[0]);
  CHECK(output[1]["content"][0]["text"] == texts[1]);
  CHECK(output[2]["arguments"] == texts[2]);
  CHECK(last["usage"] == bench.answer()["usage"]);
  CHECK(last["usage"]["input_tokens_details"]["cached_tokens"] == 8);
  for (std::size_t i = 0; i < 3; ++i) {
    api::Json a = output[i], b = bench.answer()["output"][i];
    for (const char* id : {"id", "call_id"}) a.erase(id), b.erase(id);
    CHECK(a == b);
  }
}

TEST_CASE("responses: an answer that was cut is incomplete, an empty one has a message") {
  Bench bench;
  Script script;
  script.end = {.reason = api::ChoiceEnd::Reason::length, .stop = StopReason::max_tokens};
  api::responses::Writer writer(bench.call(), response(false), {});
  script.play(writer);
  const api::Json answer = bench.answer();
  CHECK(answer["status"] == "incomplete");
  CHECK(answer["incomplete_details"]["reason"] == "max_output_tokens");
  REQUIRE(answer["output"].size() == 1);
  CHECK(answer["output"][0]["status"] == "incomplete");
}

TEST_CASE("responses: a writer whose client has left reports that nothing is kept") {
  int n_ended = 0;
  Bench bench;
  {
    const api::responses::Writer writer(bench.call(), response(false),
                                        [&](const std::string& json, const ChatMessage&) {
                                          CHECK(json.empty());
                                          ++n_ended;
                                        });
  }
  CHECK(n_ended == 1);
}

TEST_CASE("responses: the store forgets the first that ended, and cancels running ones") {
  Store store(2, 100'000);
  for (const char* id : {"a", "b", "c"}) {
    store.begin(id, "{}");
    CHECK_FALSE(store.conversation(id));
    store.finish(id, fmt::format("[\"{}\"]", id), {{.role = "user", .content = id}});
  }
  CHECK_FALSE(store.json("a"));
  CHECK(store.json("c") == "[\"c\"]");
  CHECK(store.conversation("b")->front().content == "b");
  CHECK(store.remove("b"));
  CHECK_FALSE(store.remove("b"));

  int n_cancelled = 0;
  store.begin("d", "{}");
  store.set_cancel("d", [&] { ++n_cancelled; });
  CHECK(store.remove("d"));
  store.set_cancel("d", [&] { ++n_cancelled; });  // it was removed meanwhile
  store.finish("d", "{}", {});
  CHECK(n_cancelled == 2);
  CHECK_FALSE(store.json("d"));

  store.begin("e", "{}", "[1]");
  store.set_cancel("e", [&] { ++n_cancelled; });
  CHECK(store.cancel("e", R"({"status":"cancelled"})"));
  CHECK(n_cancelled == 3);
  store.drop_running("e");  // its run ends without an answer
  store.finish("e", "{}", {});
  CHECK(store.json("e") == R"({"status":"cancelled"})");
  CHECK(store.input("e") == "[1]");
  CHECK_FALSE(store.conversation("e"));  // no answer to go on from
  CHECK_FALSE(store.cancel("e", "{}"));  // it has ended
  CHECK_FALSE(store.cancel("unknown", "{}"));
  store.begin("f", "{}");
  CHECK(store.cancel("f", "{}"));
  store.set_cancel("f", [&] { ++n_cancelled; });  // it was cancelled meanwhile
  CHECK(n_cancelled == 4);

  store.begin("g", "{}", "[]", /*keep=*/false);
  CHECK(store.cancel("g", "{}"));
  CHECK_FALSE(store.json("g"));

  Store small(100, 2000);
  small.begin("x", "{}");
  small.finish("x", std::string(1500, 'x'), {});
  small.begin("y", "{}");
  small.finish("y", std::string(1500, 'x'), {});
  CHECK_FALSE(small.json("x"));
  CHECK(small.json("y"));
}

TEST_CASE("responses: running ones count in the limit of the store, and are not forgotten") {
  Store store(100, 10'000);
  const auto end = [&](const char* id) {
    store.begin(id, "{}");
    store.finish(id, std::string(4000, 'x'), {});
  };
  end("a");
  store.begin("b", "{}", std::string(9000, ' '));
  CHECK_FALSE(store.json("a"));
  CHECK(store.json("b"));
  SUBCASE("dropped") {
    store.drop_running("b");
  }
  SUBCASE("removed") {
    store.remove("b");
  }
  SUBCASE("cancelled, and not kept") {
    store.begin("b", "{}", std::string(9000, ' '), /*keep=*/false);
    store.cancel("b", "{}");
  }
  end("c");
  end("d");
  CHECK(store.json("c"));
}

}  // namespace
}  // namespace weft::test
