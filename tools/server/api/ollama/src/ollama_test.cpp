#include "weft/api/listed_model.h"

#include "interface_test_support.h"
#include "model_facts.h"
#include "request.h"
#include "writer.h"

namespace weft::test {
namespace {

using namespace api::ollama;

TEST_CASE("ollama: messages, tools and options") {
  const ChatRequest request = chat_fields().read(api::parse_body(R"({"messages": [
    {"role": "user", "content": "Lamp on."},
    {"role": "assistant", "content": "", "tool_calls":
      [{"function": {"name": "set_lamp", "arguments": {"on": true}}}]},
    {"role": "tool", "content": "done", "tool_name": "set_lamp"}],
    "options": {"num_predict": 7, "temperature": 0, "top_k": 3, "seed": 5, "stop": "x",
                "num_ctx": 512, "numa": false, "unknown": {"a": 1}},
    "think": "low", "format": {"type": "object"}, "stream": false, "keep_alive": "5m",
    "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]})"));
  const ChatTurn chat = chat_turn(request);
  REQUIRE(chat.messages.size() == 3);
  CHECK(chat.messages[1].tool_calls[0].arguments == R"({"on":true})");
  CHECK(chat.messages[2].name == "set_lamp");
  CHECK(chat.tools.size() == 1);
  CHECK(chat.constraint.kind == Constraint::Kind::json_schema);
  CHECK(chat.constraint.place == "format");
  CHECK(request.max_tokens == 7);
  CHECK(request.sampler.temperature == 0);
  CHECK(request.sampler.top_k == 3);
  CHECK(request.seed == 5);
  CHECK(request.stop == std::vector<std::string>{"x"});
  CHECK_FALSE(request.stream);
  CHECK_FALSE(request.unload);
  CHECK(request.template_kwargs.find("\"reasoning_effort\":\"low\"") != std::string::npos);
}

TEST_CASE("ollama: num_predict below 0 is without limit, keep_alive 0 unloads") {
  const auto read = [](std::string_view body) {
    GenerateRequest initial;
    initial.max_tokens = 3;
    return generate_fields().read(api::parse_body(body), initial);
  };
  CHECK_FALSE(read(R"({"options": {"num_predict": -1}})").max_tokens);
  CHECK(read(R"({"options": {}})").max_tokens == 3);
  CHECK(read(R"({"keep_alive": 0})").unload);
  CHECK(read(R"({"keep_alive": "0s"})").unload);
  CHECK_FALSE(read(R"({"keep_alive": -1})").unload);
}

TEST_CASE("ollama: errors name the field") {
  const auto of = [](const std::string& body) { return refusal(chat_fields(), body); };
  CHECK(of(R"({"messages": "x"})") == "messages");
  CHECK(of(R"({"options": [1]})") == "options");
  CHECK(of(R"({"options": {"top_k": "many"}})") == "options.top_k");
  CHECK(of(R"({"options": {"num_ctx": "x"}})") == "options.num_ctx");
  CHECK(of(R"({"messages": [{"role": "wizard"}]})") == "messages[0].role");
  CHECK(of(R"({"messages": [{"role": "user", "images": ["AA=="]}]})") == "messages[0].images");
  CHECK(of(R"({"format": "yaml"})") == "format");
  CHECK(refusal(generate_fields(), R"({"prompt": 5})") == "prompt");
  CHECK(refusal(generate_fields(), R"({"template": "{{ .Prompt }}"})") == "template");
}

TEST_CASE("ollama: lines have the contents of the whole answer") {
  for (const AnswerKind kind : {AnswerKind::chat, AnswerKind::generate}) {
    Bench bench, streaming;
    Writer whole(bench.call(), {.kind = kind, .stream = false});
    full_script().play(whole);
    const api::Json answer = bench.answer();
    CHECK(answer["done"] == true);
    CHECK(answer["done_reason"] == "stop");
    CHECK(answer["prompt_eval_count"] == 20);
    CHECK(answer["eval_count"] == 9);

    Writer stream(streaming.call(), {.kind = kind});
    full_script().play(stream);
    CHECK(streaming.exchange->answer.content_type == "application/x-ndjson");
    std::string text, thinking;
    int n_calls = 0, n_done = 0;
    for (const std::string& line : streaming.lines()) {
      const api::Json row = api::parse_json(line);
      n_done += row["done"].get<bool>();
      const api::Json& part = kind == AnswerKind::chat ? row["message"] : row;
      text += part[kind == AnswerKind::chat ? "content" : "response"].get<std::string>();
      if (part.contains("thinking")) thinking += part["thinking"].get<std::string>();
      if (part.contains("tool_calls")) {
        ++n_calls;
        CHECK(part["tool_calls"][0]["function"]["arguments"]["on"] == true);
      }
    }
    CHECK(n_done == 1);
    CHECK(text == "It is\n\"on\".");
    CHECK(thinking == "Hm.");
    CHECK(n_calls == (kind == AnswerKind::chat ? 1 : 0));
  }
}

TEST_CASE("ollama: a context continues with the tokens of the answer") {
  Bench bench;
  Writer writer(
      bench.call(),
      {.kind = AnswerKind::generate, .stream = false, .context = {1, 2}, .has_context = true});
  Script script;
  script.events = {content("a"), content("b")};
  script.play(writer);
  CHECK(bench.answer()["context"] == api::parse_json("[1,2,7,7]"));
}

TEST_CASE("ollama: names with the tag latest, sizes, times, digests") {
  NoModels models;
  models.listed = {{.name = "a", .aliases = {"a", "b:x"}, .path = "/a"}};
  CHECK(api::listed_model(models, "a:latest").name == "a");
  CHECK(api::listed_model(models, "b:x").name == "a");
  CHECK_THROWS_AS(api::listed_model(models, "c"), api::ApiError);
  CHECK(parameter_size(1'100'048'384) == "1.1B");
  CHECK(parameter_size(33'000'000) == "33M");
  CHECK(parameter_size(512) == "512");
  CHECK(timestamp(0) == "1970-01-01T00:00:00.000000Z");
  CHECK(timestamp(1'800'000'000'123'456) == "2027-01-15T08:00:00.123456Z");
  CHECK(digest(models.listed[0]).size() == 64);
}

}  // namespace
}  // namespace weft::test
