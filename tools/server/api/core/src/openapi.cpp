#include "openapi.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/text.h"

namespace weft::api {
namespace {

struct Status {
  int status;
  const char* description;
};
constexpr Status kErrors[] = {
    {400, "The request is malformed or asks for something that cannot be done; names the field"},
    {401, "No key, or a wrong one"},
    {403, "The origin or the host is not allowed"},
    {404, "Unknown path, model or object"},
    {405, "The path is known, the method is not"},
    {413, "The body is too large"},
    {414, "The request line is too long"},
    {415, "The body is not JSON"},
    {429, "Too many requests wait; Retry-After says for how long to wait"},
    {431, "The header is too large"},
    {500, "An error of the server"},
    {501, "The model or the server cannot do this"},
    {503, "Loading, draining, or out of memory; Retry-After says for how long to wait"},
};

const char* form_name(ErrorForm form) {
  switch (form) {
    case ErrorForm::anthropic:
      return "AnthropicError";
    case ErrorForm::ollama:
      return "OllamaError";
    default:
      return "Error";
  }
}

Json error_schemas() {
  const Json text{{"type", "string"}};
  const Json text_or_null{{"type", Json::array({"string", "null"})}};
  const auto object = [](Json properties) {
    Json required = Json::array();
    for (const auto& [name, value] : properties.items()) required.push_back(name);
    return Json{{"type", "object"}, {"properties", properties}, {"required", required}};
  };
  return {{"Error", object({{"error", object({{"message", text},
                                              {"type", text},
                                              {"param", text_or_null},
                                              {"code", text_or_null}})}})},
          {"AnthropicError", object({{"type", {{"const", "error"}}},
                                     {"error", object({{"type", text}, {"message", text}})}})},
          {"OllamaError", object({{"error", text}})}};
}

Json responses(const Endpoint& endpoint) {
  Json all = Json::object();
  Json ok{{"description", "The answer"}};
  ok["content"][endpoint.answer_type] = Json::object();
  all["200"] = std::move(ok);
  const std::string schema =
      fmt::format("#/components/schemas/{}", form_name(error_form(endpoint.path)));
  for (const Status& error : kErrors)
    all[std::to_string(error.status)] = {
        {"description", error.description},
        {"content", {{"application/json", {{"schema", {{"$ref", schema}}}}}}}};
  return all;
}

Json operation(const Endpoint& endpoint) {
  Json json{{"operationId", endpoint.operation}, {"summary", endpoint.summary}};
  const std::size_t brace = endpoint.path.find('{');
  if (brace != std::string::npos)
    json["parameters"] = Json::array(
        {{{"name", endpoint.path.substr(brace + 1, endpoint.path.find('}') - brace - 1)},
          {"in", "path"},
          {"required", true},
          {"schema", {{"type", "string"}}}}});
  if (endpoint.request) {
    const std::string schema = fmt::format("#/components/schemas/{}Request", endpoint.operation);
    json["requestBody"] = {{"required", !endpoint.body_optional},
                           {"content", {{"application/json", {{"schema", {{"$ref", schema}}}}}}}};
  }
  json["responses"] = responses(endpoint);
  return json;
}

}  // namespace

std::string openapi_document(std::span<const Endpoint> endpoints, std::string_view version) {
  Json paths = Json::object(), schemas = error_schemas();
  for (const Endpoint& endpoint : endpoints) {
    paths[endpoint.path][to_lower(endpoint.method)] = operation(endpoint);
    if (endpoint.request)
      schemas[endpoint.operation + "Request"] = Json::parse(endpoint.request->schema());
  }
  const Json keys = {{"bearer", {{"type", "http"}, {"scheme", "bearer"}}},
                     {"key", {{"type", "apiKey"}, {"in", "header"}, {"name", "X-Api-Key"}}}};
  return to_text(
      {{"openapi", "3.1.0"},
       {"info",
        {{"title", "weft serve"},
         {"version", version},
         {"description",
          "Language models on CPUs: the interfaces of OpenAI, Anthropic, "
          "Ollama and llama-server"}}},
       {"paths", std::move(paths)},
       {"components", {{"schemas", std::move(schemas)}, {"securitySchemes", keys}}},
       {"security",
        Json::array({Json::object(), {{"bearer", Json::array()}}, {{"key", Json::array()}}})}});
}

}  // namespace weft::api
