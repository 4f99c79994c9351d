// Knobs of the sampler in every interface: as fields, in the engine, in reports.

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "weft/base/text.h"
#include "weft/sample/sampler_knobs.h"
#include "weft/serve/generation_knobs.h"

#include "all_interfaces_test_support.h"
#include "settings.h"

namespace weft::api::test {
namespace {

struct Interface {
  std::string path;
  Json body;            // the least that it accepts
  bool nested = false;  // the knobs are in `options`

  Json with(const Json& knobs) const {
    Json request = body;
    request["model"] = "stories";
    request["stream"] = false;
    if (nested)
      request["options"] = knobs;
    else
      request.update(knobs);
    return request;
  }
};

std::vector<Interface> interfaces() {
  const Json chat = Json::parse("{" + kMessages + R"(,"max_tokens":4})");
  return {{"/v1/chat/completions", chat},
          {"/v1/completions", {{"prompt", "a"}}},
          {"/v1/responses", {{"input", "a"}}},
          {"/v1/messages", chat},
          {"/completion", {{"prompt", "a"}}},
          {"/api/chat", chat, true},
          {"/api/generate", {{"prompt", "a"}}, true}};
}

template <class M>
M other_value(const Knob<SamplerOptions>& knob) {
  if constexpr (std::is_integral_v<M>)
    return M{1};
  else
    return knob.range.contains(0.25) ? M{0.25} : M{1.25};
}

// All knobs, each with a value that is not its default.
SamplerOptions other_sampler() {
  SamplerOptions options;
  for_each_knob(sampler_knobs(), options, [](const auto& knob, auto& value) {
    value = other_value<std::remove_reference_t<decltype(value)>>(knob);
  });
  return options;
}

Json as_json(const SamplerOptions& options, bool last_names) {
  Json json;
  for_each_knob(sampler_knobs(), options, [&](const KnobText& text, const auto& value) {
    json[std::string(last_names ? text.names().back() : text.name)] = value;
  });
  return json;
}

TEST_CASE("every interface takes every knob of the sampler, by all of its names") {
  Interfaces server;
  const SamplerOptions wanted = other_sampler();
  for (const Interface& to : interfaces()) {
    for (const bool last_names : {false, true}) {
      server.ask(to.path, to_text(to.with(as_json(wanted, last_names))));
      const SamplerOptions& got = server.texts->requests.back().generation.sampler;
      CHECK_MESSAGE(as_json(got, false) == as_json(wanted, false), to.path);
    }
  }
}

TEST_CASE("every interface takes samplers as names or as a text of llama.cpp's letters") {
  Interfaces server;
  const auto message = [](const Json& error) {
    const Json& e = error["error"];
    return e.is_object() ? e["message"].get<std::string>() : e.get<std::string>();
  };
  for (const Interface& to : interfaces()) {
    CAPTURE(to.path);
    const auto order = [&](const Json& samplers) {
      server.ask(to.path, to_text(to.with({{"samplers", samplers}})));
      return server.texts->requests.back().generation.sampler.order;
    };
    const std::vector<std::string> kpt = {"top_k", "top_p", "temperature"};
    CHECK(order("kpt") == kpt);
    CHECK(order(kpt) == kpt);
    CHECK(order({"top_k", "top_p", "temp"}) == kpt);  // another name of temperature
    CHECK(order("edskypmxta")->size() == 10);
    const std::vector<std::string> none;
    CHECK(order("") == none);
    CHECK(order(Json::array()) == none);
    CHECK(order(nullptr) == std::nullopt);
    const auto refusal = [&](const Json& samplers) {
      return message(server.ask(to.path, to_text(to.with({{"samplers", samplers}})), 400));
    };
    CHECK(refusal("kit").find("samplers: unknown sampler 'i' in 'kit'") != std::string::npos);
    CHECK(refusal({"top_k", "luck"}).find("samplers: unknown sampler 'luck'") != std::string::npos);
    CHECK(refusal(5).find("samplers: expected a list of names of samplers, or a text of letters") !=
          std::string::npos);
  }
}

TEST_CASE("every interface takes the knobs of a generation, by all of their names") {
  Interfaces server;
  for (const Interface& to : interfaces()) {
    for (const Knob<GenerationOptions>& knob : generation_knobs()) {
      for (const std::string_view name : knob.names()) {
        const Json wanted = knob.name == "ignore_eos" ? Json(true) : Json(3);
        Json request = to.with({{std::string(name), wanted}});
        if (!to.nested && knob.name == "max_tokens" && request.contains("max_tokens"))
          request["max_tokens"] = wanted;
        CAPTURE(name);
        server.ask(to.path, to_text(request));
        const GenerationOptions& got = server.texts->requests.back().generation;
        for_each_knob(generation_knobs(), got, [&](const auto& other, const auto& value) {
          if (other.name == knob.name) CHECK_MESSAGE(Json(value) == wanted, to.path);
        });
      }
    }
  }
}

TEST_CASE("every interface takes what texts do at the end of the context, by all of its names") {
  Interfaces server;
  for (const Interface& to : interfaces()) {
    for (const Knob<ContextEndOptions>& knob : context_knobs()) {
      for (const std::string_view name : knob.names()) {
        CAPTURE(name);
        const Json request = to.with({{"context_end", "window"}, {std::string(name), 3}});
        server.ask(to.path, to_text(request));
        const ContextEndOptions& got = server.texts->requests.back().generation.context_end;
        CHECK(got.end == ContextEnd::window);
        for_each_knob(context_knobs(), got, [&](const auto& other, const auto& value) {
          if (other.name == knob.name) CHECK_MESSAGE(Json(value) == Json(3), to.path);
        });
      }
    }
    server.ask(to.path, to_text(to.with({{"context_end", "roll"}})), 400);
  }
}

TEST_CASE("what the server does at the end of the context holds for requests that do not say it") {
  Interfaces server;
  server.served->context_end = {.end = ContextEnd::window, .keep = 9, .cells = 70};
  for (const Interface& to : interfaces()) {
    CAPTURE(to.path);
    const auto asked = [&](const Json& more) {
      server.ask(to.path, to_text(to.with(more)));
      return server.texts->requests.back().generation.context_end;
    };
    CHECK(asked(Json::object()).end == ContextEnd::window);
    CHECK(asked(Json::object()).keep == 9);
    CHECK(asked({{"context_end", "evict"}}).cells == 70);
    CHECK(asked({{"context_end", "stop"}}).end == ContextEnd::stop);
    const ContextEndOptions own =
        asked({{"context_end", "evict"}, {"keep", 2}, {"cache_evict", 5}});
    CHECK((own.end == ContextEnd::evict && own.keep == 2 && own.cells == 5));
  }
  const Json props = server.get("GET", "/props")["default_generation_settings"]["params"];
  CHECK(props["context_end"] == "window");
  CHECK(props["keep"] == 9);
  CHECK(props["cache_evict"] == 70);
}

Json schema_of(const FieldList& fields) {
  const Json properties = Json::parse(fields.schema())["properties"];
  return properties.contains("options") ? properties["options"]["properties"] : properties;
}

TEST_CASE("knobs are in the schemas of all texts, with their sentences") {
  std::size_t n_tables = 0;
  for (const Endpoint& endpoint : all_endpoints()) {
    if (!endpoint.request) continue;
    const Json schema = schema_of(*endpoint.request);
    if (!schema.contains("temperature")) continue;
    ++n_tables;
    for (const Knob<SamplerOptions>& knob : sampler_knobs())
      for (const std::string_view name : knob.names()) {
        CAPTURE(endpoint.path);
        REQUIRE_MESSAGE(schema.contains(std::string(name)), name);
        const Json& field = schema[std::string(name)];
        if (name == knob.name) CHECK(field["description"] == std::string(knob.doc));
        CHECK(field.contains("default"));
      }
    for (const KnobText& text : sampler_texts())
      CHECK(schema[std::string(text.name)]["description"] == std::string(text.doc));
    for (const Knob<GenerationOptions>& knob : generation_knobs())
      for (const std::string_view name : knob.names())
        CHECK_MESSAGE(schema.contains(std::string(name)), name);
    for (const KnobText& text : generation_texts()) {
      CHECK(text.flags.empty() != text.no_flag.empty());
      if (text.name == "stop") continue;  // interfaces name it themselves
      REQUIRE_MESSAGE(schema.contains(std::string(text.name)), text.name);
      CHECK(schema[std::string(text.name)]["description"] == std::string(text.doc));
    }
  }
  for (const Knob<GenerationOptions>& knob : generation_knobs())
    CHECK(knob.flags.empty() != knob.no_flag.empty());
  CHECK(n_tables == interfaces().size() + 1);  // and /infill
}

// The problem with the form of a sentence.
std::string sentence_problem(const std::string& text) {
  const char first = text.empty() ? ' ' : text.front();
  if (!(first >= 'A' && first <= 'Z') && !is_digit(first) && first != '"' && first != '`')
    return "begins with a small letter";
  if (text.back() != '.') return "has no full stop";
  return text.find(' ') == text.npos ? "is one word" : "";
}

void check_sentences(const Json& schema) {
  for (const auto& [name, value] : schema.items()) {
    if (name == "description" && value.is_string())
      CHECK_MESSAGE(sentence_problem(value) == "", value.dump());
    else if (value.is_structured())
      check_sentences(value);
  }
}

TEST_CASE("every field of a request has a sentence that stands alone") {
  CHECK(sentence_problem("Number of tokens.").empty());
  for (const char* wrong : {"", "of the call", "of the call.", "Number of tokens", "Number."})
    CHECK_MESSAGE(!sentence_problem(wrong).empty(), wrong);
  for (const Endpoint& endpoint : all_endpoints()) {
    if (!endpoint.request) continue;
    CAPTURE(endpoint.path);
    for (const FieldList::Field& field : endpoint.request->fields())
      CHECK_MESSAGE(sentence_problem(field.doc) == "", field.name);
    check_sentences(Json::parse(endpoint.request->schema()));
  }
}

TEST_CASE("native answers and /props report every knob") {
  Interfaces server;
  const SamplerOptions wanted = other_sampler();
  TextRequest request;
  request.generation.sampler = wanted;
  const Json settings = parse_json(native::with_seed(native::settings_json(request, {"x"}), 5));
  CHECK(settings["dry_sequence_breakers"] == Json{"x"});
  CHECK(settings["samplers"] == Json(kSamplerOrder));
  request.generation.sampler.order.emplace();
  const Json without = parse_json(native::with_seed(native::settings_json(request, {}), 5));
  CHECK(without["samplers"] == Json::array());
  for (const KnobText& text : sampler_texts())
    CHECK_MESSAGE(settings.contains(std::string(text.name)), text.name);
  for (const KnobText& text : generation_knobs())
    CHECK_MESSAGE(settings.contains(std::string(text.name)), text.name);
  for (const KnobText& text : generation_texts())
    CHECK_MESSAGE(settings.contains(std::string(text.name)), text.name);
  const Json values = as_json(wanted, false);
  for (const auto& [name, value] : values.items())
    CHECK_MESSAGE(settings.at(name).get<double>() == doctest::Approx(value.get<double>()), name);
  const Json props = server.get("GET", "/props")["default_generation_settings"]["params"];
  for (const Knob<SamplerOptions>& knob : sampler_knobs())
    CHECK_MESSAGE(props.contains(std::string(knob.name)), knob.name);
}

TEST_CASE("requests that switch DRY on have its breakers") {
  Interfaces server;
  server.ask("/completion", R"({"prompt": "a", "dry_multiplier": 1})");
  CHECK_FALSE(server.texts->requests.back().generation.sampler.dry_breakers.empty());
  server.ask("/completion", R"({"prompt": "a", "dry_multiplier": 1, "dry_sequence_breakers": []})");
  CHECK(server.texts->requests.back().generation.sampler.dry_breakers.empty());
}

TEST_CASE("knobs out of range and unknown tokens are refused with their path") {
  Interfaces server;
  for (const Interface& to : interfaces()) {
    for (const Json& wrong :
         {Json{{"top_p", 1.5}}, Json{{"mirostat", 3}}, Json{{"logit_bias", {{"99999999", 1}}}}}) {
      const std::string path = (to.nested ? "options." : "") + wrong.begin().key();
      const std::string answer = to_text(server.ask(to.path, to_text(to.with(wrong)), 400));
      CHECK_MESSAGE(answer.find(path + ": ") != answer.npos, answer);
    }
  }
}

}  // namespace
}  // namespace weft::api::test
