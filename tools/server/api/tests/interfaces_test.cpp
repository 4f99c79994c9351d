// The interfaces over their endpoints, with fake texts.
#include <array>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "weft/api/interface_forms.h"
#include "weft/api/json.h"

#include "all_interfaces_test_support.h"
#include "support/waiting.h"

namespace weft::api::test {
namespace {

TEST_CASE("every interface says how many tokens were lost at the end of the context") {
  Interfaces server;
  const std::string chat = "{" + kMessages + R"(, "max_tokens": 4, "model": "stories")";
  const std::string prompt = R"({"prompt": "a", "model": "stories")";
  const std::string details = "/usage/completion_tokens_details/dropped_tokens";
  for (const auto& [path, body, place] : std::vector<std::array<std::string, 3>>{
           {"/v1/chat/completions", chat, "/timings/dropped_n"},
           {"/v1/chat/completions", chat, details},
           {"/v1/completions", prompt, "/timings/dropped_n"},
           {"/v1/completions", prompt, details},
           {"/v1/responses", R"({"input": "a", "model": "stories")",
            "/usage/output_tokens_details/dropped_tokens"},
           {"/v1/messages", chat, "/usage/dropped_tokens"},
           {"/completion", prompt, "/timings/dropped_n"},
           {"/api/chat", chat, "/dropped_count"},
           {"/api/generate", prompt, "/dropped_count"}}) {
    CAPTURE(path);
    const Json::json_pointer at(place);
    server.texts->n_dropped = 7;
    const Json answer = server.ask(path, body + R"(, "stream": false})");
    REQUIRE_MESSAGE(answer.contains(at), answer.dump());
    CHECK(answer[at] == 7);
    server.texts->n_dropped = 0;
    CHECK_FALSE(server.ask(path, body + R"(, "stream": false})").contains(at));
  }
}

TEST_CASE("/v1/messages answers, and counts the tokens that it uses") {
  Interfaces server;
  const Json answer = server.ask("/v1/messages", R"({"max_tokens": 20, )" + kMessages + "}");
  CHECK(answer["content"][0]["text"] == "You are welcome!");
  CHECK(answer["stop_reason"] == "end_turn");
  CHECK(answer["model"] == "stories");
  const Json count = server.ask("/v1/messages/count_tokens", "{" + kMessages + "}");
  CHECK(count["input_tokens"] == answer["usage"]["input_tokens"]);
  const Json error = server.ask("/v1/messages", "{" + kMessages + "}", 400);
  CHECK(error["type"] == "error");
  CHECK(error["error"]["type"] == "invalid_request_error");
}

TEST_CASE("a stream ends with an error if its client does not read") {
  Interfaces server;
  http::Request request;
  request.method = "POST";
  request.path = "/v1/messages";
  request.body = R"({"stream": true, "max_tokens": 20, )" + kMessages + "}";
  const auto exchange = std::make_shared<FakeExchange>(std::move(request));
  exchange->n_unsent = std::size_t{17} << 20;
  server.router->handle(exchange);
  const std::string text = exchange->wait().body;
  CHECK(exchange->done);
  CHECK(text.find("too slowly") != text.npos);
  CHECK(text.find("message_stop") == text.npos);
  CHECK(server.texts->cancelled() == std::vector<RequestId>{1});
}

TEST_CASE("an effort of none turns thinking off") {
  CHECK(effort_kwargs("").empty());
  CHECK(effort_kwargs("low") == R"({"reasoning_effort":"low"})");
  CHECK(effort_kwargs("none") ==
        R"({"reasoning_effort":"none","enable_thinking":false,"thinking":false})");
}

TEST_CASE("native: two names of one thing are refused together") {
  Interfaces server;
  server.ask("/embedding", R"({"content": "a", "input": "b"})", 400);
  server.ask("/rerank", R"({"query": "q", "documents": ["a"], "texts": ["b"]})", 400);
}

TEST_CASE("/v1/responses: kept, continued, deleted") {
  Interfaces server;
  const Json first = server.ask("/v1/responses", R"({"input": "Thank you."})");
  CHECK(first["output"][0]["content"][0]["text"] == "You are welcome!");
  const std::string id = first["id"].get<std::string>();
  CHECK(server.get("GET", "/v1/responses/" + id) == first);

  const Json next = server.ask(
      "/v1/responses", fmt::format(R"({{"input": "More.", "previous_response_id": "{}"}})", id));
  CHECK(next["previous_response_id"] == id);
  const Json alone = server.ask("/v1/responses/input_tokens", R"({"input": "More."})");
  CHECK(next["usage"]["input_tokens"] > alone["input_tokens"]);

  CHECK(server.get("DELETE", "/v1/responses/" + id)["deleted"] == true);
  server.get("GET", "/v1/responses/" + id, 404);
  server.get("DELETE", "/v1/responses/" + id, 404);
  const Json gone =
      server.ask("/v1/responses",
                 fmt::format(R"({{"input": "More.", "previous_response_id": "{}"}})", id), 400);
  CHECK(gone["error"]["param"] == "previous_response_id");
  const Json forgotten = server.ask("/v1/responses", R"({"input": "Hi", "store": false})");
  server.get("GET", "/v1/responses/" + forgotten["id"].get<std::string>(), 404);
}

TEST_CASE("a call that must come is not text if it is cut before its name") {
  Interfaces server;
  server.texts->stop = StopReason::max_tokens;
  for (const char* cut : {"{", "{\"nam", "{\"name\": \""}) {
    CAPTURE(cut);
    server.texts->texts = {cut};
    const Json chat = server.ask(
        "/v1/chat/completions",
        "{" + kMessages + R"(, "tools": [{"type": "function", "function": {"name": "f"}}],
                               "tool_choice": "required"})")["choices"][0];
    CHECK(chat["message"]["content"] == "");
    CHECK_FALSE(chat["message"].contains("tool_calls"));
    CHECK(chat["finish_reason"] == "length");
    const Json answer =
        server.ask("/v1/messages", R"({"max_tokens": 2, "tool_choice": {"type": "any"}, "tools":
            [{"name": "f", "input_schema": {"type": "object"}}], )" +
                                       kMessages + "}");
    CHECK(answer["stop_reason"] == "max_tokens");
    for (const Json& block : answer["content"]) CHECK(block.value("text", "") == "");
    const http::Reply events = server.post(
        "/v1/chat/completions",
        "{" + kMessages + R"(, "tools": [{"type": "function", "function": {"name": "f"}}],
                               "tool_choice": "required", "stream": true})");
    CHECK(events.body.find("\"finish_reason\":\"length\"") != std::string::npos);
    CHECK(events.body.find(Json(cut).dump()) == std::string::npos);
  }
}

TEST_CASE("/v1/models in Anthropic's form: pages") {
  struct Several final : Models {
    void find(std::string_view name, Ready ready) override {
      ready(nullptr, std::make_exception_ptr(model_not_found(name)));
    }
    std::vector<ListedModel> list() const override {
      std::vector<ListedModel> all;
      for (const char* name : {"a", "b", "c", "d", "e"}) all.push_back({.name = name});
      return all;
    }
  };
  Interfaces server;
  Several several;
  Services services{several, server.workers, {}};
  server.router = std::make_unique<Router>(test::all_endpoints(), services);
  const auto get = [&](const std::string& query, int status) {
    const http::Reply reply =
        server.send("GET", "/v1/models" + query, "", {{"anthropic-version", "2023-06-01"}})->wait();
    CHECK_MESSAGE(reply.status == status, reply.body);
    return parse_json(reply.body);
  };
  const auto page = [&](const std::string& query) {
    const Json json = get(query, 200);
    std::string ids;
    for (const Json& item : json["data"]) ids += item["id"].get<std::string>();
    CHECK(json["first_id"] == (ids.empty() ? Json() : Json(ids.substr(0, 1))));
    CHECK(json["last_id"] == (ids.empty() ? Json() : Json(ids.substr(ids.size() - 1))));
    return ids + (json["has_more"] == true ? "+" : "");
  };
  CHECK(page("") == "abcde");
  CHECK(page("?limit=2") == "ab+");
  CHECK(page("?limit=2&after_id=b") == "cd+");
  CHECK(page("?limit=1000&after_id=d") == "e");
  CHECK(page("?before_id=d&limit=2") == "bc+");
  CHECK(page("?after_id=e") == "");
  for (const std::string query : {"?limit=0", "?limit=1001", "?limit=x", "?after_id=f",
                                  "?before_id=f", "?after_id=c&before_id=b"})
    CHECK(get(query, 400)["error"]["type"] == "invalid_request_error");
}

TEST_CASE("/v1/responses/ID/input_items: pages") {
  Interfaces server;
  const std::string id = server.ask("/v1/responses", R"({"input": [
    {"role": "user", "id": "a", "content": "1"}, {"role": "assistant", "id": "b", "content": "2"},
    {"role": "user", "id": "c", "content": "3"}, {"role": "assistant", "id": "d", "content": "4"},
    {"role": "user", "id": "e", "content": "5"}]})")["id"];
  const std::string path = "/v1/responses/" + id + "/input_items";
  // The ids of a page, and a plus sign if there are more.
  const auto page = [&](const std::string& query) {
    const Json json = server.get("GET", path + "?" + query);
    std::string ids;
    for (const Json& item : json["data"]) ids += item["id"].get<std::string>();
    CHECK(json["first_id"] == (ids.empty() ? Json() : Json(ids.substr(0, 1))));
    CHECK(json["last_id"] == (ids.empty() ? Json() : Json(ids.substr(ids.size() - 1))));
    return ids + (json["has_more"] == true ? "+" : "");
  };
  CHECK(page("") == "edcba");
  CHECK(page("order=asc&limit=2") == "ab+");
  CHECK(page("order=asc&limit=2&after=b") == "cd+");
  CHECK(page("order=asc&before=d") == "abc");
  CHECK(page("order=asc&before=d&limit=2") == "bc+");
  CHECK(page("before=b&limit=2") == "dc+");
  CHECK(page("order=asc&after=a&before=e") == "bcd");
  CHECK(page("order=asc&after=a&before=e&limit=2") == "bc+");
  CHECK(page("order=asc&after=a&before=b") == "");
  CHECK(page("include[]=message.input_image.image_url&include=reasoning.encrypted_content") ==
        "edcba");
  const auto refused = [&](const std::string& query) {
    return server.get("GET", path + "?" + query, 400)["error"]["param"];
  };
  CHECK(refused("before=x") == "before");
  CHECK(refused("order=asc&after=c&before=b") == "before");
  CHECK(refused("after=x") == "after");
  CHECK(refused("limit=0") == "limit");
  CHECK(refused("order=up") == "order");
  CHECK(refused("include[]=message.output_text.logprobs&include[]=secrets") == "include");
  server.get("GET", "/v1/responses/" + id + "?include=secrets", 400);
}

TEST_CASE("DELETE of a running response cancels it") {
  Interfaces server;
  server.texts->silent = true;
  const auto exchange =
      server.send("POST", "/v1/responses", R"({"input": "Hi", "stream": true, "store": false})");
  const auto listeners = server.texts->waiting();
  REQUIRE(listeners.size() == 1);
  PromptDone prompt{};
  listeners[0]->on_prompt(prompt);
  REQUIRE(
      weft::test::eventually([&] { return exchange->text().find("resp_") != std::string::npos; }));
  const std::string body = exchange->text();
  const std::size_t at = body.find("resp_");
  const std::string id = body.substr(at, body.find('"', at) - at);
  CHECK(server.get("DELETE", "/v1/responses/" + id)["deleted"] == true);
  CHECK(server.texts->cancelled() == std::vector<RequestId>{1});
  listeners[0]->on_end(0, {.stop = StopReason::cancelled},
                       {.reason = StopReason::cancelled, .stop_string = ""});
  CHECK(exchange->wait().body.find("\"reason\":\"cancelled\"") != std::string::npos);
}

TEST_CASE("/api: names of models, whole answers, loading, refused requests") {
  Interfaces server;
  const std::string rest = R"(, "stream": false, )" + kMessages + "}";
  for (const char* name : {"stories", "stories:latest"}) {
    const Json answer = server.ask("/api/chat", fmt::format(R"({{"model": "{}")", name) + rest);
    CHECK(answer["message"]["content"] == "You are welcome!");
    CHECK(answer["done_reason"] == "stop");
  }
  const Json unknown = server.ask("/api/chat", R"({"model": "other")" + rest, 404);
  CHECK(unknown["error"].is_string());
  const Json loaded = server.ask("/api/generate", R"({"model": "stories", "stream": false})");
  CHECK(loaded["done_reason"] == "load");
  server.ask("/api/pull", R"({"model": "x"})", 501);
  CHECK(server.get("GET", "/api/tags")["models"][0]["details"]["family"] == "llama");
  CHECK(server.get("GET", "/api/ps")["models"][0]["context_length"] == 512);
  const Json show = server.ask("/api/show", R"({"model": "stories"})");
  CHECK(show["model_info"]["general.architecture"] == "llama");
  CHECK(show["model_info"]["tokenizer.ggml.tokens"].is_null());
  CHECK(server.ask("/api/embed", R"({"model": "stories", "input": ["a", "b"]})")["embeddings"]
            .size() == 2);
  server.ask("/api/generate", R"({"model": "stories", "prompt": "a", "suffix": "b"})", 400);
}

TEST_CASE("files of slots: names are checked before anything else") {
  Interfaces server;
  for (const char* name : {"../evil.bin", "/tmp/evil.bin", "", ".", "a/b"}) {
    http::Request request;
    request.method = "POST";
    request.path = "/slots/0";
    request.query = "action=save";
    request.body = to_text({{"filename", name}});
    const auto exchange = std::make_shared<FakeExchange>(std::move(request));
    server.router->handle(exchange);
    CHECK(exchange->wait().status == 400);
    CHECK(parse_json(exchange->answer.body)["error"]["param"] == "filename");
  }
}

TEST_CASE("llama-server's: tokens, templates, completions, features that the model lacks") {
  Interfaces server;
  const Json ids = server.ask("/tokenize", R"({"content": " two  spaces"})")["tokens"];
  CHECK(server.ask("/detokenize", to_text({{"tokens", ids}}))["content"] == " two  spaces");
  server.ask("/detokenize", R"({"tokens": [987654321]})", 400);
  server.ask("/tokenize", R"({"content": 7})", 400);
  CHECK(server.ask("/tokenize", R"({"prompt": "x"})")["max_model_len"] == 512);
  CHECK(server.ask("/apply-template", "{" + kMessages + "}")["prompt"] ==
        "<|im_start|>user\nThank you.<|im_end|>\n<|im_start|>assistant\n");

  const Json answer = server.ask("/completion", R"({"prompt": ["a", [5, "b"]], "n_probs": 0})");
  REQUIRE(answer.size() == 2);
  CHECK(answer[1]["index"] == 1);
  CHECK(answer[1]["content"] == "You are welcome!");
  CHECK(answer[0]["generation_settings"]["n_predict"] == -1);
  server.ask("/completion", R"({"prompt": "a", "id_slot": 99})", 400);
  server.ask("/infill", R"({"input_prefix": "a", "input_suffix": "b"})", 501);
  const Json rank = server.ask("/rerank", R"({"query": "a", "documents": ["b"]})", 501);
  CHECK(rank["error"]["message"].get<std::string>().starts_with("stories: the model has no "));
  CHECK(server.get("GET", "/props")["total_slots"] == 2);
  CHECK(server.get("GET", "/props")["model_path"] == "stories");
  CHECK(server.get("GET", "/props")["default_generation_settings"]["params"]["seed"] == -1);
  CHECK(server.get("GET", "/lora-adapters") == Json::array());
  server.ask("/lora-adapters", R"([{"id": 7, "scale": 1}])", 400);
  server.ask("/props", "{}", 501);
  CHECK(server.ask("/embedding", R"({"content": "a"})")[0]["embedding"][0].size() == 3);
}

}  // namespace
}  // namespace weft::api::test
