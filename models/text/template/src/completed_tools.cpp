#include <algorithm>

#include "weft/base/error.h"

#include "adapted_chat.h"
#include "given_json.h"

namespace weft::chat {
namespace {

using Json = nlohmann::ordered_json;

Json parsed(const std::string& tools) {
  Json all = parse_given("the list of tools", tools);
  if (!all.is_array()) fail<FormatError>("the list of tools is not a JSON array");
  return all;
}

// In time linear in the members, unlike erase() of each.
void erase_nulls(Json& object) {
  Json::object_t kept;
  for (auto& [name, value] : object.get_ref<Json::object_t&>())
    if (!value.is_null()) kept.push_back({name, std::move(value)});
  object = std::move(kept);
}

// The type that values of a schema without one have, as far as the schema says.
std::string type_of_values(const Json& schema) {
  for (const char* keyword : {"const", "enum"}) {
    if (!schema.contains(keyword)) continue;
    const bool lists = keyword == std::string_view("enum");
    if (lists && (!schema[keyword].is_array() || schema[keyword].empty())) continue;
    const Json& value = lists ? schema[keyword].front() : schema[keyword];
    if (value.is_array()) return "array";
    if (value.is_object()) return "object";
    if (value.is_string()) return "string";
    if (value.is_boolean()) return "boolean";
    if (value.is_number()) return value.is_number_float() ? "number" : "integer";
  }
  for (const char* keyword : {"anyOf", "oneOf", "allOf"}) {
    if (!schema.contains(keyword) || !schema[keyword].is_array()) continue;
    for (const Json& one : schema[keyword]) {
      if (!one.is_object()) continue;
      const Json type = one.value("type", Json(type_of_values(one)));
      if (type.is_string() && type != "null" && type != "") return type.get<std::string>();
    }
  }
  return schema.contains("properties") ? "object" : schema.contains("items") ? "array" : "";
}

void complete_schema(Json& schema) {
  if (!schema.is_object()) schema = Json::object();
  if (!schema.contains("type") || schema["type"].is_null()) {
    const std::string type = type_of_values(schema);
    schema["type"] = type.empty() ? "string" : type;
  } else if (schema["type"].is_array()) {  // ["string", "null"]
    const Json types = schema["type"];
    const auto first = std::ranges::find_if(types, [](const Json& type) { return type != "null"; });
    schema["type"] = first == types.end() ? Json("string") : *first;
  }
  if (!schema.contains("description")) schema["description"] = "";
}

}  // namespace

std::string without_nulls(const std::string& tools) {
  Json all = parsed(tools);
  for (Json& tool : all)
    if (function_of(tool).is_object()) erase_nulls(function_of(tool));
  return all.dump();
}

std::string completed_tools(const std::string& tools) {
  Json all = parsed(without_nulls(tools));
  for (Json& tool : all) {
    Json& function = function_of(tool);
    if (!function.is_object()) continue;
    if (!function.contains("description")) function["description"] = "";
    Json& parameters = function["parameters"];
    if (!parameters.is_object()) parameters = Json::object();
    if (!parameters.contains("type")) parameters["type"] = "object";
    Json& properties = parameters["properties"];
    if (!properties.is_object()) properties = Json::object();
    for (auto& property : properties) complete_schema(property);
  }
  return all.dump();
}

}  // namespace weft::chat
