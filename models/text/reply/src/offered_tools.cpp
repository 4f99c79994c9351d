#include "offered_tools.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/base/json_string.h"
#include "weft/base/text.h"

#include "json_scan.h"
#include "python_literal.h"

namespace weft::reply {
namespace {

using Schema = nlohmann::json;

constexpr JsonTypes kEveryType = kText | kNumber | kBoolean | kNull | kArray | kObject;
// Schemas that are looked at for one parameter: references can multiply them.
constexpr int kMaxSchemas = 1000;

JsonTypes type_named(const Schema& name) {
  if (name == "string") return kText;
  if (name == "number" || name == "integer") return kNumber;
  if (name == "boolean") return kBoolean;
  if (name == "null") return kNull;
  if (name == "array") return kArray;
  return name == "object" ? kObject : kEveryType;
}

JsonTypes type_of_value(const Schema& value) {
  if (value.is_string()) return kText;
  if (value.is_number()) return kNumber;
  if (value.is_boolean()) return kBoolean;
  if (value.is_null()) return kNull;
  return value.is_array() ? kArray : kObject;
}

// The types that a schema within `root` allows. `left`: number of schemas that may still be
// examined.
JsonTypes types_in(const Schema& schema, const Schema& root, int& left);

JsonTypes united(const Schema& schemas, const Schema& root, int& left) {
  JsonTypes all = 0;
  for (const Schema& one : schemas) all |= types_in(one, root, left);
  return all == 0 ? kEveryType : all;
}

JsonTypes referred(const Schema& reference, const Schema& root, int& left) {
  const std::string text = reference.is_string() ? reference.get<std::string>() : "";
  if (!text.starts_with('#')) return kEveryType;
  try {
    const Schema::json_pointer at(text.substr(1));
    return root.contains(at) ? types_in(root[at], root, left) : kEveryType;
  } catch (const Schema::exception&) {
    return kEveryType;
  }
}

JsonTypes types_in(const Schema& schema, const Schema& root, int& left) {
  if (!schema.is_object() || left-- <= 0) return kEveryType;
  const auto get = [&](const char* keyword) -> const Schema* {
    const auto at = schema.find(keyword);
    return at == schema.end() ? nullptr : &*at;
  };
  JsonTypes types = kEveryType;
  if (const Schema* type = get("type")) {
    JsonTypes named = 0;
    if (type->is_array())
      for (const Schema& name : *type) named |= type_named(name);
    else
      named = type_named(*type);
    types &= named;
  }
  if (const Schema* value = get("const")) types &= type_of_value(*value);
  if (const Schema* values = get("enum"); values && values->is_array()) {
    JsonTypes listed = 0;
    for (const Schema& value : *values) listed |= type_of_value(value);
    types &= listed;
  }
  if (const Schema* reference = get("$ref")) types &= referred(*reference, root, left);
  for (const char* keyword : {"anyOf", "oneOf"})
    if (const Schema* schemas = get(keyword); schemas && schemas->is_array())
      types &= united(*schemas, root, left);
  if (const Schema* schemas = get("allOf"); schemas && schemas->is_array())
    for (const Schema& one : *schemas) types &= types_in(one, root, left);
  return types;
}

bool is_number(std::string_view text) {
  return is_json(text) && (is_digit(text.front()) || text.front() == '-');
}

// The value as one of the types, if it is one.
std::optional<std::string> as_one_of(std::string_view text, JsonTypes types) {
  const std::string word = to_lower(text);
  if ((types & kNull) != 0 && (word == "null" || word == "none")) return "null";
  if ((types & kBoolean) != 0 && (word == "true" || word == "false")) return word;
  if ((types & kNumber) != 0) {
    if (is_number(text)) return std::string(text);
    double real = 0;
    const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), real);
    if (error == std::errc() && end == digits.data() + digits.size() && std::isfinite(real))
      return Schema(real).dump();
  }
  const bool array = text.starts_with('[') || text.starts_with('(');
  if ((types & (array ? kArray : kObject)) == 0) return std::nullopt;
  if (!array && !text.starts_with('{')) return std::nullopt;
  if (is_json(text)) return std::string(text);
  return python_literal(text);
}

}  // namespace

JsonTypes Tools::types_of(std::string_view tool, std::string_view parameter) const {
  const auto known_tool = parameters.find(tool);
  if (known_tool == parameters.end()) return 0;
  const auto known = known_tool->second.find(parameter);
  return known == known_tool->second.end() ? 0 : known->second;
}

Tools read_tools(std::string_view json) {
  Tools tools;
  if (json.empty()) return tools;
  if (json.size() > (std::size_t{16} << 20) || !is_json(json))
    fail<FormatError>("the tools are not JSON");
  const auto list = Schema::parse(json, nullptr, false);
  if (!list.is_array()) fail<FormatError>("the tools must be a JSON array");
  for (const auto& tool : list) {
    const auto function = tool.is_object() && tool.contains("function") ? tool["function"] : tool;
    if (!function.is_object() || !function.contains("name") || !function["name"].is_string())
      fail<FormatError>("each tool must be an object with a function that has a name");
    auto& parameters = tools.parameters[function["name"].get<std::string>()];
    const Schema schema = function.value("parameters", Schema());
    if (!schema.is_object() || !schema.contains("properties")) continue;
    if (!schema["properties"].is_object()) continue;
    for (const auto& [name, value] : schema["properties"].items()) {
      int left = kMaxSchemas;
      const JsonTypes types = types_in(value, schema, left);
      parameters[name] = types == kEveryType ? 0 : types;
    }
  }
  return tools;
}

std::string typed_value(std::string_view text, JsonTypes types) {
  const std::string_view trimmed = trim(text);
  if ((types & kText) != 0)
    return (types & kNull) != 0 && trimmed == "null" ? "null" : json_string(text);
  if (!trimmed.empty())
    if (auto value = as_one_of(trimmed, types)) return *value;
  return is_json(text) ? std::string(text) : json_string(text);
}

}  // namespace weft::reply
