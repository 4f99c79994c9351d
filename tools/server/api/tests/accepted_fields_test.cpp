// Fields that say of themselves that they have no effect.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "all_interfaces_test_support.h"
#include "settings.h"

namespace weft::api::test {
namespace {

using Pointer = Json::json_pointer;

// Requests with all objects and lists in which there are such fields.
std::map<std::string, Json> full_requests() {
  const Json chat = Json::parse("{" + kMessages + R"(, "max_tokens": 4, "stream": false})");
  const Json tool = Json::parse(
      R"({"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}})");
  Json completions = chat, messages = chat, ollama = chat;
  completions.update({{"tools", {tool}}, {"functions", {tool["function"]}}});
  messages.update(Json::parse(R"({"tools": [{"name": "f", "input_schema": {"type": "object"}}],
                                  "thinking": {"type": "disabled"}})"));
  ollama.update({{"tools", {tool}}, {"options", {{"num_predict", 4}}}});
  const Json responses = Json::parse(R"({"input": "a", "reasoning": {"effort": "low"}, "text":
      {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}}}})");
  return {{"/v1/chat/completions", completions},
          {"/v1/messages", messages},
          {"/v1/messages/count_tokens", messages},
          {"/v1/responses", responses},
          {"/v1/responses/input_tokens", responses},
          {"/api/chat", ollama},
          {"/api/generate", {{"prompt", "a"}, {"stream", false}, {"options", Json::object()}}}};
}

bool has_no_effect(const Json& schema) {
  const auto doc = schema.find("description");
  // Otherwise it is a field of this name.
  if (doc == schema.end() || !doc->is_string()) return false;
  return doc->get_ref<const std::string&>().find("without effect") != std::string::npos;
}

std::size_t n_without_effect(const Json& schema) {
  std::size_t n = schema.is_object() && has_no_effect(schema) ? 1 : 0;
  for (const Json& part : schema)
    if (part.is_structured()) n += n_without_effect(part);
  return n;
}

// Adds the places of such fields in the objects that the request has.
void find_fields(const Json& schema, const Json& request, const Pointer& at,
                 std::vector<std::pair<Pointer, Json>>& found) {
  if (request.is_array() && schema.contains("items") && !request.empty())
    find_fields(schema["items"], request[0], at / 0, found);
  if (!schema.contains("properties")) return;
  for (const auto& [name, field] : schema["properties"].items()) {
    if (has_no_effect(field)) found.emplace_back(at / name, field);
    if (request.contains(name)) find_fields(field, request[name], at / name, found);
  }
}

std::vector<Json> some_values(const Json& schema) {
  if (schema.contains("enum")) return schema["enum"].get<std::vector<Json>>();
  const std::string type = schema.at("type");
  if (type == "boolean") return {true, false};
  if (type == "string") return {"high", "detailed"};
  return {1, 4096};
}

// The effect of a request on the engine; its answer, if it generates nothing.
std::string effect(Interfaces& server, const std::string& path, const Json& request) {
  server.texts->requests.clear();
  const Json answer = server.ask(path, to_text(request));
  if (server.texts->requests.empty()) return to_text(answer);
  TextRequest made = server.texts->requests.back();
  made.generation.sampler.seed = 0;
  std::string text = native::settings_json(made, {});
  for (const TokenId id : made.prompt) text += " " + std::to_string(id);
  return text;
}

TEST_CASE("fields that are accepted without effect change no request") {
  Interfaces server;
  const auto requests = full_requests();
  std::size_t n_tried = 0;
  for (const Endpoint& endpoint : all_endpoints()) {
    if (!endpoint.request) continue;
    CAPTURE(endpoint.path);
    const Json schema = Json::parse(endpoint.request->schema());
    const auto request = requests.find(endpoint.path);
    std::vector<std::pair<Pointer, Json>> found;
    if (request != requests.end()) find_fields(schema, request->second, Pointer(), found);
    CHECK(found.size() == n_without_effect(schema));
    for (const auto& [at, field] : found) {
      CAPTURE(at.to_string());
      const std::string wanted = effect(server, endpoint.path, request->second);
      for (const Json& value : some_values(field)) {
        Json changed = request->second;
        changed[at] = value;
        CHECK(effect(server, endpoint.path, changed) == wanted);
        ++n_tried;
      }
    }
  }
  CHECK(n_tried > 0);
}

TEST_CASE("strict tools hold free calls to their schema") {
  Interfaces server;
  const auto requests = full_requests();
  for (const auto& [path, strict] :
       {std::pair{"/v1/chat/completions", Pointer("/tools/0/function/strict")},
        std::pair{"/v1/messages", Pointer("/tools/0/strict")}}) {
    Json request = requests.at(path);
    const std::string wanted = effect(server, path, request);
    request[strict] = true;
    CHECK_MESSAGE(effect(server, path, request) != wanted, path);
  }
}

}  // namespace
}  // namespace weft::api::test
