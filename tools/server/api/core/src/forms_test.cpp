// Forms of requests that clients send beside the documented ones.
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "weft/api/json.h"
#include "weft/base/error.h"
#include "weft/tokenize/tokenizer.h"

#include "api_test_support.h"

namespace weft::api::test {
namespace {

struct FormsServer : FakeServer {
  explicit FormsServer(const std::string& chat_template = {}) : FakeServer(chat_template) {
    texts->texts = {"You are welcome!"};
  }

  static std::string chat(const std::string& more) {
    return R"({"messages": [{"role": "user", "content": "Hi"}], )" + more + "}";
  }
  // The request that the engine gets.
  const TextRequest& accepted(const std::string& path, const std::string& body) {
    const http::Reply reply = post(path, body);
    CHECK_MESSAGE(reply.status == 200, reply.body);
    REQUIRE(!texts->requests.empty());
    return texts->requests.back();
  }
  Json refused(const std::string& path, const std::string& body) {
    const http::Reply reply = post(path, body);
    CHECK_MESSAGE(reply.status == 400, reply.body);
    return parse_json(reply.body)["error"];
  }
  Json refused(const std::string& more) { return refused("/v1/chat/completions", chat(more)); }
  const SamplerOptions& sampler(const std::string& more) {
    return accepted("/v1/chat/completions", chat(more)).generation.sampler;
  }
};

TEST_CASE("fields say how prompts are kept, and whether parts of them may move") {
  FormsServer server;
  const auto chat = [&](const std::string& more) {
    return server.accepted("/v1/chat/completions", FormsServer::chat(more));
  };
  CHECK(chat(R"("n_cache_reuse": 64)").moved.min_tokens == 64);
  CHECK(chat(R"("stream": false)").moved.min_tokens == 0);
  CHECK(server.refused(R"("n_cache_reuse": -1)")["param"] == "n_cache_reuse");
  CHECK(chat(R"("prompt_cache_key": "agent 7")").likely_again);
  CHECK_FALSE(chat(R"("stream": false)").likely_again);
}

TEST_CASE("a limit of -1 is none, others below 0 are refused") {
  FormsServer server;
  const auto limit = [&](const char* path, const std::string& body) {
    return server.accepted(path, body).generation.max_tokens;
  };
  const char* const chat = "/v1/chat/completions";
  CHECK(limit(chat, FormsServer::chat(R"("max_tokens": -1)")) == -1);
  CHECK(limit(chat, FormsServer::chat(R"("max_completion_tokens": -1)")) == -1);
  CHECK(limit(chat, FormsServer::chat(R"("max_completion_tokens": -1, "max_tokens": 5)")) == -1);
  CHECK(limit(chat, FormsServer::chat(R"("max_tokens": 5, "max_completion_tokens": 7)")) == 7);
  CHECK(server.refused(R"("max_tokens": 5, "n_predict": 7)")["message"] ==
        "n_predict: there is another value in max_tokens");
  CHECK(limit("/v1/completions", R"({"prompt": "a", "max_tokens": -1})") == -1);
  CHECK(limit("/v1/completions", R"({"prompt": "a"})") == 16);
  for (const char* wrong : {"-2", "-5", "1.5", "\"ten\""}) {
    const Json error = server.refused("\"max_tokens\": " + std::string(wrong));
    CHECK(error["param"] == "max_tokens");
  }
  CHECK(server.refused(R"("max_tokens": -5)")["message"] ==
        "max_tokens: expected a whole number from 0 to 1099511627776, or -1 for no limit, got -5");
}

TEST_CASE("top_logprobs of 0 needs no logprobs") {
  FormsServer server;
  CHECK(server.accepted("/v1/chat/completions", FormsServer::chat(R"("top_logprobs": 0)"))
            .generation.logprobs == -1);
  CHECK(server.refused(R"("top_logprobs": 1)")["param"] == "top_logprobs");
}

TEST_CASE("biases of texts count for their tokens") {
  FormsServer server;
  const auto tokens = [&](const char* text) {
    return server.model->tokenizer().encode(text, {.add_special = false});
  };
  const auto bias_of = [](const SamplerOptions& options, TokenId id) {
    float bias = 0;
    int n = 0;
    for (const auto& [token, value] : options.logit_bias)
      if (token == id) bias = value, ++n;
    CHECK(n == 1);
    return bias;
  };
  const std::vector<TokenId> hello = tokens("Hello there");
  REQUIRE(!hello.empty());
  const SamplerOptions options =
      server.sampler(R"("logit_bias": [["Hello there", -0.5], [7, 2], ["Hello there", -1]])");
  for (const TokenId id : hello) CHECK(bias_of(options, id) == -1.5F);
  CHECK(bias_of(options, 7) == 2.0F);
  const SamplerOptions named = server.sampler(R"("logit_bias": {"Hello there": false, "7": 3})");
  CHECK(bias_of(named, hello[0]) == -std::numeric_limits<float>::infinity());
  CHECK(bias_of(named, 7) == 3.0F);

  for (const char* wrong : {R"([[7, 1], [7, 2]])", R"([["", 1]])", R"([[7]])", R"({"99999999": 1})",
                            R"({"99999999999999999999": 1})", R"([[-3, 1]])", R"([[7.5, 1]])"})
    CHECK(server.refused("\"logit_bias\": " + std::string(wrong))["param"] == "logit_bias");
  CHECK(server.refused(R"("logit_bias": [[5, 1000]])")["message"] ==
        "logit_bias: expected biases from -100 to 100, or false, got [[5,1000]]");
}

TEST_CASE("names of one field must not contradict each other") {
  FormsServer server;
  const auto problem = [&](const char* more) {
    return server.refused(more)["message"].get<std::string>();
  };
  CHECK(problem(R"("temperature": 0.5, "temp": 0)") ==
        "temp: there is another value in temperature");
  CHECK(problem(R"("typical": 0.5, "typ_p": 0.25)") == "typical: there is another value in typ_p");
  CHECK(server.refused(R"("temp": 1, "temperature": 0.5)")["param"] == "temp");
  CHECK(server.sampler(R"("temp": 1, "temperature": 1.0)").temperature == 1);
  CHECK(server.sampler(R"("temp": 0.25, "temperature": null)").temperature == 0.25F);
  const Json error = server.refused("/v1/completions", R"({"prompt": "a", "rep_pen": 2,
                                                           "repeat_penalty": 1.5})");
  CHECK(error["param"] == "rep_pen");
}

TEST_CASE("numbers beyond those of the sampler are refused with the range") {
  FormsServer server;
  CHECK(server.refused(R"("dynatemp_exponent": 1e39)")["message"] ==
        "dynatemp_exponent: expected a number from -3.40282e+38 to 3.40282e+38, got 1e+39");
  CHECK(server.refused(R"("temperature": 3.5e38)")["message"] ==
        "temperature: expected a number from 0 to 3.40282e+38, got 3.5e+38");
  CHECK(server.sampler(R"("temperature": 3.4e38)").temperature == 3.4e38F);
}

TEST_CASE("adaptive sampling is a field of requests") {
  FormsServer server;
  const SamplerOptions options =
      server.sampler(R"("adaptive_target": 0.25, "adaptive_decay": 0.5)");
  CHECK(options.adaptive_target == 0.25F);
  CHECK(options.adaptive_decay == 0.5F);
  CHECK(server.refused(R"("adaptive_target": 2)")["param"] == "adaptive_target");
}

TEST_CASE("parts of other interfaces are texts, and results of tools name their call") {
  FormsServer server;
  server.accepted("/v1/chat/completions", R"({"messages": [{"role": "user", "content": [
      {"type": "input_text", "text": "One"}, {"type": "output_text", "text": "Two"}]},
      {"role": "assistant", "content": [{"type": "refusal", "refusal": "Three"}]},
      {"role": "user", "content": "Four"}]})");
  CHECK(server.prompt().find("One\nTwo") != std::string::npos);
  CHECK(server.prompt().find("Three") != std::string::npos);
  CHECK(server.refused("/v1/chat/completions",
                       R"({"messages": [{"role": "tool", "content": "x"}]})")["param"] ==
        "messages[0].tool_call_id");
}

const std::string kTools =
    R"("tools": [{"type": "function", "function": {"name": "f", "description": "first"}},
                 {"type": "function", "function": {"name": "g", "description": "second"}}], )";

TEST_CASE("allowed tools narrow the choice") {
  FormsServer server("{% for t in tools %}{{ t | tojson }}{% endfor %}{{ messages[0].content }}");
  const auto choose = [](const std::string& choice) {
    return FormsServer::chat(kTools + R"("tool_choice": )" + choice);
  };
  const char* const chat = "/v1/chat/completions";
  for (const char* choice :
       {R"({"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [
             {"type": "function", "function": {"name": "g"}}]}})",
        R"({"type": "allowed_tools", "mode": "required", "tools": [
             {"type": "function", "name": "g"}, {"type": "web_search"}]})"}) {
    const TextRequest& request = server.accepted(chat, choose(choice));
    CHECK(request.generation.rules.grammar != nullptr);
    CHECK(server.prompt().find("second") != std::string::npos);
    CHECK(server.prompt().find("first") == std::string::npos);
  }
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"type": "function"})", "tool_choice.function"},
      {R"({"type": "function", "function": {}})", "tool_choice.function.name"},
      {R"({"type": "function", "function": "g"})", "tool_choice.function"},
      {R"({"type": "sometimes"})", "tool_choice.type"},
      {R"({"type": "allowed_tools"})", "tool_choice.mode"},
      {R"({"type": "allowed_tools", "mode": "auto"})", "tool_choice.tools"},
      {R"({"type": "allowed_tools", "mode": "auto", "tools": []})", "tool_choice.tools"},
      {R"({"type": "allowed_tools", "mode": "auto", "tools": [{"name": "h"}]})",
       "tool_choice.tools[0].name"},
      {R"({"type": "allowed_tools", "allowed_tools": {"mode": "none", "tools": []}})",
       "tool_choice.allowed_tools.mode"}};
  for (const auto& [choice, param] : wrong)
    CHECK(server.refused(chat, choose(choice))["param"] == param);
}

TEST_CASE("formats of reasoning have names") {
  for (const std::string& name : reasoning_names()) {
    CHECK_NOTHROW(reasoning_format(name));
    CHECK(std::string_view(kReasoningDoc).find(name) != std::string_view::npos);
  }
  CHECK(reasoning_format("none") == ReasoningFormat::none);
  CHECK_THROWS_AS(reasoning_format("hidden"), UnsupportedError);
}

}  // namespace
}  // namespace weft::api::test
