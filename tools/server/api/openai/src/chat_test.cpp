#include <algorithm>
#include <cctype>

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "api_test_support.h"

namespace weft::api {
namespace {

using test::FakeServer;

// ChatML with thoughts and calls.
constexpr const char* kTemplate =
    R"({%- if tools %}<tools>{{ tools | tojson }} <tool_call></tool_call></tools>{% endif %}
{%- for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}
<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %})";

constexpr const char* kTools =
    R"("tools": [{"type": "function", "function": {"name": "set_lamp", "parameters":
        {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]}}}])";

std::string body(std::string_view fields = "") {
  return fmt::format(R"({{"messages": [{{"role": "user", "content": "Hi"}}]{}{}}})",
                     fields.empty() ? "" : ", ", fields);
}

Json chat(FakeServer& server, std::string_view fields = "") {
  const http::Reply reply = server.post("/v1/chat/completions", body(fields));
  CAPTURE(reply.body);
  REQUIRE(reply.status == 200);
  return Json::parse(reply.body)["choices"][0];
}

// The events of a stream; the last one, [DONE], is left out.
std::vector<Json> stream(FakeServer& server, std::string_view fields = "") {
  const auto exchange =
      server.send("POST", "/v1/chat/completions",
                  body(fmt::format(R"("stream": true{}{})", fields.empty() ? "" : ", ", fields)));
  const std::string text = exchange->wait().body;
  CHECK(exchange->answer.content_type == "text/event-stream");
  std::vector<Json> events;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find("\n\n", at);
    REQUIRE(end != text.npos);
    const std::string line = text.substr(at, end - at);
    REQUIRE(line.starts_with("data: "));
    at = end + 2;
    if (line == "data: [DONE]") {
      CHECK(at == text.size());
      return events;
    }
    events.push_back(Json::parse(line.substr(6)));
  }
  FAIL("the stream has no end: " << text);
  return events;
}

// The message that a stream adds up to.
Json joined(const std::vector<Json>& events) {
  Json message{{"content", ""}, {"reasoning_content", ""}, {"tool_calls", Json::array()}};
  for (const Json& event : events) {
    for (const Json& choice : event["choices"]) {
      const Json& delta = choice["delta"];
      for (const char* key : {"content", "reasoning_content"})
        if (delta.contains(key))
          message[key] = message[key].get<std::string>() + delta[key].get<std::string>();
      for (const Json& call : delta.value("tool_calls", Json::array())) {
        if (call.contains("id")) {
          CHECK(call["index"] == message["tool_calls"].size());
          message["tool_calls"].push_back(call["function"]);
          continue;
        }
        Json& known = message["tool_calls"][call["index"].get<std::size_t>()];
        known["arguments"] = known["arguments"].get<std::string>() +
                             call["function"]["arguments"].get<std::string>();
      }
      if (!choice["finish_reason"].is_null()) message["finish"] = choice["finish_reason"];
    }
  }
  return message;
}

TEST_CASE("a chat, whole and streamed") {
  FakeServer server(kTemplate);
  server.texts->texts = {"<think>\nWhy?\n</think>\n\nBecause na\u00efve \U0001F98A."};
  const Json whole = chat(server);
  CHECK(whole["message"]["content"] == "Because na\u00efve \U0001F98A.");
  CHECK(whole["message"]["reasoning_content"] == "Why?");
  CHECK(whole["finish_reason"] == "stop");
  const std::vector<Json> events = stream(server, R"("stream_options": {"include_usage": true})");
  CHECK(events.front()["choices"][0]["delta"]["role"] == "assistant");
  CHECK(events.back()["choices"].empty());
  CHECK(events.back()["usage"]["completion_tokens"] > 5);
  const Json message = joined(events);
  CHECK(message["content"] == whole["message"]["content"]);
  CHECK(message["reasoning_content"] == "Why?");
  CHECK(message["finish"] == "stop");
}

TEST_CASE("calls, whole and streamed") {
  FakeServer server(kTemplate);
  const std::string call =
      "<tool_call>\n{\"name\": \"set_lamp\", \"arguments\": {\"on\": true}}\n</tool_call>";
  server.texts->texts = {"A moment.\n" + call + "\n" + call};
  for (const char* more : {"", R"(, "tool_choice": "auto")"}) {
    const Json whole = chat(server, std::string(kTools) + more);
    CHECK(whole["finish_reason"] == "tool_calls");
    CHECK(whole["message"]["content"] == "A moment.");
    CHECK(whole["message"]["tool_calls"].size() == 2);
    CHECK(whole["message"]["tool_calls"][0]["function"]["arguments"] == "{\"on\": true}");
    CHECK(whole["message"]["tool_calls"][0]["id"] != whole["message"]["tool_calls"][1]["id"]);
    const Json message = joined(stream(server, std::string(kTools) + more));
    CHECK(message["content"] == "A moment.");
    CHECK(message["tool_calls"].size() == 2);
    CHECK(message["tool_calls"][1]["arguments"] == "{\"on\": true}");
    CHECK(message["finish"] == "tool_calls");
  }
  CHECK_FALSE(server.texts->requests.back().generation.rules.grammar);
}

TEST_CASE("calls have ids of nine letters or digits where the template demands it") {
  const std::string strict =
      "{% for m in messages %}{% for c in m.tool_calls or [] %}{% if c.id | length != 9 %}"
      "{{ raise_exception('nine') }}{% endif %}<tool_call>\n{{ c.function | tojson }}\n"
      "</tool_call>{% endfor %}{{ m.content }}{% endfor %}{{ tools }}";
  FakeServer server(strict);
  server.texts->texts = {
      "<tool_call>\n{\"name\": \"set_lamp\", \"arguments\": {\"on\": true}}\n</tool_call>"};
  const Json whole = chat(server, kTools);
  REQUIRE(whole["message"]["tool_calls"].size() == 1);
  const auto is_short = [](const std::string& id) {
    return id.size() == 9 &&
           std::ranges::all_of(id, [](unsigned char c) { return std::isalnum(c); });
  };
  CHECK(is_short(whole["message"]["tool_calls"][0]["id"].get<std::string>()));
  const std::vector<Json> events = stream(server, kTools);
  const auto with_id = std::ranges::find_if(
      events, [](const Json& e) { return e["choices"][0]["delta"].contains("tool_calls"); });
  REQUIRE(with_id != events.end());
  CHECK(is_short((*with_id)["choices"][0]["delta"]["tool_calls"][0]["id"].get<std::string>()));
}

TEST_CASE("calls of a history that the template does not show are written as replies are read") {
  FakeServer server("{{ tools }}<|tool_call|>{% for m in messages %}/{{ m.content }}{% endfor %}");
  server.texts->texts = {"Done."};
  const http::Reply reply = server.post("/v1/chat/completions", R"({"messages": [
      {"role": "user", "content": "Hi"}, {"role": "assistant", "tool_calls": [{"id": "1", "type":
      "function", "function": {"name": "f", "arguments": "{\"a\": 1}"}}]}]})");
  CHECK(reply.status == 200);
  CHECK(server.prompt().ends_with(R"(/<|tool_call|>[{"name": "f", "arguments": {"a":1}}])"));
}

TEST_CASE("a call that is not complete is content, unless it was truncated or enforced") {
  FakeServer server(kTemplate);
  server.texts->texts = {"<tool_call>\n{\"name\": \"set_lamp\", \"arguments\": {\"on\": tr"};
  Json whole = chat(server, kTools);
  CHECK(whole["message"]["content"] == server.texts->texts[0]);
  server.texts->stop = StopReason::max_tokens;
  whole = chat(server, kTools);
  CHECK(whole["message"]["content"] == "");
  CHECK(joined(stream(server, kTools))["content"] == "");

  const std::string required = std::string(kTools) + R"(, "tool_choice": "required")";
  whole = chat(server, required);
  CHECK(whole["message"]["content"].is_null());
  CHECK(whole["message"]["tool_calls"][0]["function"]["arguments"] == "{\"on\": tr");
  CHECK(whole["finish_reason"] == "length");
  const Json message = joined(stream(server, required));
  CHECK(message["content"] == "");
  CHECK(message["tool_calls"][0]["arguments"] == "{\"on\": tr");
  CHECK(server.texts->requests.back().generation.rules.grammar);
}

TEST_CASE("constraints become grammars, or errors that name the field") {
  FakeServer server(kTemplate);
  server.texts->texts = {"{}"};
  const auto accepts = [&](std::string_view fields, std::string_view text) {
    chat(server, fields);
    const auto& grammar = server.texts->requests.back().generation.rules.grammar;
    REQUIRE(grammar);
    return grammar->accepts(text);
  };
  const char* schema = R"("response_format": {"type": "json_schema", "json_schema":
      {"name": "n", "schema": {"type": "object", "properties": {"a": {"enum": [1]}},
       "required": ["a"]}}})";
  CHECK(accepts(schema, R"({"a": 1})"));
  CHECK_FALSE(accepts(schema, R"({"a": 1, "b": 2})"));  // closed
  CHECK(accepts(R"("guided_choice": ["a\"b", "c\\d\n"])", "c\\d\n"));
  CHECK(accepts(R"("structured_outputs": {"regex": "[0-9]+"})", "12"));
  CHECK(accepts(R"("grammar": "root ::= \"x\"")", "x"));
  CHECK(accepts(R"("response_format": {"type": "json_object"})", R"({"a": 1, "b": 2})"));

  const auto error = [&](std::string_view fields) {
    const http::Reply reply = server.post("/v1/chat/completions", body(fields));
    CHECK(reply.status == 400);
    return Json::parse(reply.body)["error"];
  };
  Json e = error(R"("response_format": {"type": "json_schema", "json_schema": {"schema":
                    {"properties": {"a": {"type": "hiccup"}}}}})");
  CHECK(e["param"] == "response_format.json_schema.schema");
  CHECK(e["message"].get<std::string>().find("#/properties/a/type") != std::string::npos);
  CHECK(error(R"("response_format": {"type": "json_schema"})")["param"] ==
        "response_format.json_schema.schema");
  CHECK(error(R"("grammar": "root ::= x")")["param"] == "grammar");
  CHECK(error(R"("grammar": "root ::= \"x\"", "guided_regex": "x")")["param"] == "guided_regex");
  const std::string grammar = R"(, "grammar": "root ::= \"x\"")";
  CHECK(error(kTools + grammar + R"(, "tool_choice": "required")")["param"] == "grammar");
  CHECK(error(kTools + grammar + R"(, "parallel_tool_calls": false)")["param"] == "grammar");
  CHECK(accepts(kTools + grammar, "x"));
  CHECK(error(R"("response_format": {"type": "text", "schema": {}})")["param"] ==
        "response_format.schema");
  CHECK(error(R"("response_format": {"type": "text", "json_schema": {"schema": {}}})")["param"] ==
        "response_format.json_schema");
  CHECK(error(R"("response_format": {"type": "json_schema", "schema": {},
                                     "json_schema": {"schema": {}}})")["param"] ==
        "response_format.schema");
  const std::string bad_tool = R"("tools": [{"type": "function", "function": {"name": "f",
      "parameters": {"type": "object", "properties": {"a": {"type": 5}}}}}])";
  CHECK(error(bad_tool + R"(, "tool_choice": "required")")["param"] ==
        "tools[0].function.parameters");
}

TEST_CASE("the type of a tool_choice is \"function\" or absent") {
  FakeServer server(kTemplate);
  server.texts->texts = {"x"};
  const auto status = [&](std::string_view type) {
    return server
        .post("/v1/chat/completions",
              body(fmt::format(R"({}, "tool_choice": {{{} "function": {{"name": "set_lamp"}}}})",
                               kTools, type)))
        .status;
  };
  for (const char* type : {"", R"("type": "function",)", R"("type": null,)"})
    CHECK(status(type) == 200);
  for (const char* type : {R"("type": 5,)", R"("type": "custom",)", R"("type": [],)"})
    CHECK(status(type) == 400);
}

TEST_CASE("a chat of many calls and their answers is prepared in linear time") {
  FakeServer server("{{ messages[-1].name }}");
  server.texts->texts = {"x"};
  std::string messages;
  constexpr int kCalls = 20'000;  // quadratic: minutes
  for (int i = 0; i < kCalls; ++i)
    messages += fmt::format(
        R"({{"role": "assistant", "tool_calls": [{{"id": "{0}", "function": {{"name": "f{0}"}}}}]}},)",
        i);
  for (int i = 0; i < kCalls; ++i)
    messages += fmt::format(R"({{"role": "tool", "content": "", "tool_call_id": "{}"}},)", i);
  messages.pop_back();
  const http::Reply reply =
      server.post("/v1/chat/completions", fmt::format(R"({{"messages": [{}]}})", messages));
  CAPTURE(reply.body);
  CHECK(reply.status == 200);
  CHECK(server.prompt() == "f19999");
}

TEST_CASE("a message that is continued ends with its content, not with words of the template") {
  FakeServer server(kTemplate);
  server.texts->texts = {"x"};
  const http::Reply reply = server.post("/v1/chat/completions",
                                        R"({"messages": [{"role": "user", "content": "Hi"},
          {"role": "assistant", "reasoning_content": "Why?", "content": "end"}]})");
  CAPTURE(reply.body);
  CHECK(reply.status == 200);
  CHECK(server.prompt().ends_with("assistant\nend"));
}

TEST_CASE("errors have the form of the interface, before the first byte of a stream") {
  FakeServer server(kTemplate);
  server.texts->fails = std::make_exception_ptr(QueueFullError("64 requests wait"));
  const auto exchange = server.send("POST", "/v1/chat/completions", body(R"("stream": true)"));
  const http::Reply& reply = exchange->wait();
  CHECK(reply.status == 429);
  CHECK_FALSE(exchange->streamed);
  CHECK(http::find_header(reply.headers, "retry-after") == "1");
  CHECK(Json::parse(reply.body)["error"]["code"] == "queue_full");

  CHECK(server.post("/v1/nothing", "{}").status == 404);
  const http::Reply get = server.send("GET", "/v1/chat/completions")->wait();
  CHECK(get.status == 405);
  CHECK(http::find_header(get.headers, "Allow") == "POST");
  CHECK(server.send("POST", "/v1/chat/completions", body(), {{"Content-Type", "text/xml"}})
            ->wait()
            .status == 415);

  server.texts->fails = nullptr;
  std::string words;
  for (int i = 0; i < 600; ++i) words += "story ";
  const http::Reply full =
      server.post("/v1/chat/completions",
                  fmt::format(R"({{"messages": [{{"role": "user", "content": "{}"}}]}})", words));
  CHECK(full.status == 400);
  CHECK(Json::parse(full.body)["error"]["code"] == "context_length_exceeded");
}

TEST_CASE("a client that leaves cancels its texts") {
  FakeServer server(kTemplate);
  server.texts->silent = true;
  const auto exchange = server.send("POST", "/v1/chat/completions", body());
  REQUIRE(server.texts->waiting().size() == 1);
  exchange->leave();
  CHECK(server.texts->cancelled() == std::vector<RequestId>{1});
}

TEST_CASE("completions: several prompts, echo, ids") {
  FakeServer server(kTemplate);
  server.texts->texts = {"one", "two", "three"};
  Json r = Json::parse(
      server.post("/v1/completions", R"({"prompt": ["a", [20, 21], "c"], "echo": true})").body);
  REQUIRE(r["choices"].size() == 3);
  CHECK(r["choices"][0]["text"] == "aone");
  CHECK(r["choices"][2]["text"] == "cthree");
  CHECK(r["choices"][2]["index"] == 2);
  CHECK(server.texts->requests[1].prompt == std::vector<TokenId>{20, 21});
  CHECK(server.texts->requests[0].generation.max_tokens == 16);
  CHECK_FALSE(server.texts->requests[0].generation.max_time);
  CHECK(server.post("/v1/completions", R"({"prompt": [true]})").status == 400);
  CHECK(server.post("/v1/completions", R"({"prompt": [99999999]})").status == 400);
  CHECK(server.post("/v1/completions", R"({"prompt": "a", "n": 3, "best_of": 2})").status == 400);
  CHECK(server.post("/v1/completions", R"({"prompt": "a", "suffix": "b"})").status == 400);
}

TEST_CASE("completions: a limit of time") {
  FakeServer server(kTemplate);
  server.texts->texts = {"x"};
  const auto limit = [&](std::string_view ms) {
    const std::string body = fmt::format(R"({{"prompt": "a", "t_max_predict_ms": {}}})", ms);
    CHECK(server.post("/v1/completions", body).status == 200);
    return server.texts->requests.back().generation.max_time;
  };
  CHECK(limit("250") == std::chrono::milliseconds(250));
  CHECK_FALSE(limit("0"));
  CHECK_FALSE(limit("-1"));
}

TEST_CASE("errors do not show the folder of a file") {
  const ApiError error = without_folder({500, "server_error", "/a/b/x.bin: full; /a/bc/x"}, "/a/b");
  CHECK(error.what() == std::string("x.bin: full; /a/bc/x"));
  CHECK(without_folder({500, "server_error", "/x"}, "").what() == std::string("/x"));
}

TEST_CASE("completions: the numbers of biases and of choices are limited") {
  FakeServer server(kTemplate);
  server.texts->texts = {"x"};
  const auto status = [&](std::string_view fields) {
    return server.post("/v1/completions", fmt::format(R"({{"prompt": "a", {}}})", fields)).status;
  };
  CHECK(status(R"("logit_bias": {"5": 1, "6": 2})") == 200);
  CHECK(server.texts->requests.back().generation.sampler.logit_bias.size() == 2);
  CHECK(status(R"("logit_bias": [[5, 1], [5, 2]])") == 400);
  CHECK(status(R"("logit_bias": {"5": 1, "05": 2})") == 400);
  std::string biases = "[0, 1]";
  for (int i = 1; i <= 4096; ++i) biases += fmt::format(", [{}, 1]", i);
  CHECK(status(fmt::format(R"("logit_bias": [{}])", biases)) == 400);
  std::string prompts = R"("a")";
  for (int i = 1; i < 100; ++i) prompts += R"(, "a")";
  const auto several = [&](int n) {
    return server
        .post("/v1/completions",
              fmt::format(R"({{"prompt": [{}], "n": {}, "max_tokens": 1}})", prompts, n))
        .status;
  };
  CHECK(several(2) == 200);
  CHECK(several(41) == 400);
}

TEST_CASE("embeddings and models") {
  FakeServer server(kTemplate);
  Json r = Json::parse(server.post("/v1/embeddings", R"({"input": ["a", "b"]})").body);
  REQUIRE(r["data"].size() == 2);
  CHECK(r["data"][1]["embedding"].size() == 3);
  CHECK(r["data"][1]["embedding"][2].is_number_float());
  r = Json::parse(
      server.post("/v1/embeddings", R"({"input": "a", "encoding_format": "base64"})").body);
  CHECK(r["data"][0]["embedding"] == "mpkZP83MTD8AAAAA");
  r = Json::parse(server.post("/v1/embeddings", R"({"input": "a", "dimensions": 1})").body);
  CHECK(r["data"][0]["embedding"] == Json::array({1.0}));
  CHECK(server.post("/v1/embeddings", R"({"input": "a", "dimensions": 4})").status == 400);
  const auto left = server.send("POST", "/v1/embeddings", R"({"input": "a"})");
  left->wait();
  CHECK_FALSE(*server.texts->embed_cancel);
  left->leave();
  CHECK(*server.texts->embed_cancel);
  r = Json::parse(server.send("GET", "/v1/models")->wait().body);
  CHECK(r["data"][0]["id"] == "stories");
  CHECK(server.send("GET", "/v1/models/nope")->wait().status == 404);
  const Json api = Json::parse(server.send("GET", "/openapi.json")->wait().body);
  CHECK(api["components"]["schemas"]["createChatCompletionRequest"]["properties"].contains(
      "temperature"));
}

}  // namespace
}  // namespace weft::api
