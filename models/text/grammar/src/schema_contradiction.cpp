#include <string_view>
#include <utility>

#include "schema.h"

namespace weft::grammar {
namespace {

using Kind = JsonNode::Kind;

constexpr std::pair<std::string_view, std::string_view> kBounds[] = {
    {"minItems", "maxItems"},
    {"minLength", "maxLength"},
    {"minProperties", "maxProperties"},
    {"minimum", "maximum"},
    {"minContains", "maxContains"}};

bool is_number(const JsonTree& json, JsonId id) {
  return id != JsonTree::kNone && json[id].kind == Kind::number;
}

// Whether a value has the type that the keyword "type" names.
bool has_type(const JsonNode& value, std::string_view name) {
  switch (value.kind) {
    case Kind::null:
      return name == "null";
    case Kind::boolean:
      return name == "boolean";
    case Kind::number:
      return name == "number" || name == "integer";
    case Kind::string:
      return name == "string";
    case Kind::array:
      return name == "array";
    default:
      return name == "object";
  }
}

// An "enum" without values, or without one of the "type".
JsonId bad_enum(const JsonTree& json, JsonId schema) {
  const JsonId values = json.find(schema, "enum");
  if (values == JsonTree::kNone || json[values].kind != Kind::array) return JsonTree::kNone;
  const JsonId type = json.find(schema, "type");
  const bool one_type = type != JsonTree::kNone && json[type].kind == Kind::string;
  for (const JsonId value : json[values].items)
    if (!one_type || has_type(json[value], json[type].text)) return JsonTree::kNone;
  return values;
}

// A required member whose schema is `false`.
JsonId forbidden_member(const JsonTree& json, JsonId schema) {
  const JsonId properties = json.find(schema, "properties");
  const JsonId required = json.find(schema, "required");
  if (properties == JsonTree::kNone || required == JsonTree::kNone ||
      json[properties].kind != Kind::object)
    return JsonTree::kNone;
  for (const JsonId name : json[required].items) {
    const JsonId member = json.find(properties, json[name].text);
    if (member != JsonTree::kNone && json[member].kind == Kind::boolean && !json[member].truth)
      return member;
  }
  return JsonTree::kNone;
}

}  // namespace

JsonId contradiction(const JsonTree& json) {
  for (JsonId id = 0; id < json.size(); ++id) {
    if (json[id].kind != Kind::object) continue;
    if (const JsonId found = bad_enum(json, id); found != JsonTree::kNone) return found;
    if (const JsonId found = forbidden_member(json, id); found != JsonTree::kNone) return found;
    for (const auto& [min, max] : kBounds) {
      const JsonId lo = json.find(id, min), hi = json.find(id, max);
      if (is_number(json, lo) && is_number(json, hi) &&
          compare(Decimal::of(json[lo].text), Decimal::of(json[hi].text)) > 0)
        return lo;
    }
  }
  return JsonTree::kRoot;
}

}  // namespace weft::grammar
