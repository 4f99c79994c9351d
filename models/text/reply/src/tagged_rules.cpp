// Parameters that are written as text between tags: strings as they are, other values as JSON.

#include <set>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"

#include "call_rules.h"

namespace weft::reply {
namespace {

using Json = nlohmann::ordered_json;

// Keywords that restrict a string and cannot be combined here.
constexpr const char* kNotForText[] = {"format", "not",  "allOf",       "anyOf",
                                       "oneOf",  "$ref", "$dynamicRef", "if"};

bool is_text(const Json& schema) {
  if (!schema.is_object()) return false;
  if (schema.value("type", Json()) == "string") return true;
  if (schema.contains("type")) return false;
  if (schema.contains("const")) return schema["const"].is_string();
  if (!schema.contains("enum") || !schema["enum"].is_array()) return false;
  for (const Json& value : schema["enum"])
    if (!value.is_string()) return false;
  return true;
}

// One of the texts that `enum` or `const` lists.
std::string listed_text(const Json& values) {
  std::string all;
  for (const Json& value : values)
    if (value.is_string())
      all += (all.empty() ? "" : " | ") + gbnf_literal(value.get<std::string>());
  if (all.empty()) fail<UnsupportedError>("an enum of strings allows none");
  return "(" + all + ")";
}

// Up to the text that ends it.
std::string text_value(RuleWriter& rules, std::string_view close, const Json& schema) {
  for (const char* keyword : kNotForText)
    if (schema.contains(keyword))
      fail<UnsupportedError>("\"{}\" of a string cannot be enforced in this notation", keyword);
  const std::string end = rules.marker(close);
  if (schema.contains("const")) return listed_text(Json::array({schema["const"]})) + " " + end;
  if (schema.contains("enum")) return listed_text(schema["enum"]) + " " + end;
  const bool has_length = schema.contains("minLength") || schema.contains("maxLength");
  if (schema.contains("pattern")) {
    const auto pattern = schema["pattern"].get<std::string>();
    if (has_length || !pattern.starts_with('^') || !pattern.ends_with('$'))
      fail<UnsupportedError>(
          "a pattern in this notation must begin with ^, end with $, and have no length beside it");
    return rules.grammar("pattern", Grammar::from_regex(pattern)) + " " + end;
  }
  if (!has_length) return rules.up_to(close);
  const auto max = schema.contains("maxLength") ? schema["maxLength"].dump() : "";
  // Texts without the first character of the mark that ends them.
  return fmt::format("[^{}]{{{},{}}} {}", close.substr(0, 1),
                     schema.contains("minLength") ? schema["minLength"].dump() : "0", max, end);
}

std::string json_value(RuleWriter& rules, Json schema, const Json& root) {
  // References look in the definitions of the whole schema.
  for (const char* definitions : {"$defs", "definitions"})
    if (schema.is_object() && root.contains(definitions)) schema[definitions] = root[definitions];
  return rules.grammar("value", Grammar::from_json_schema(schema.dump(), {.closed_objects = true}));
}

std::string value_rule(RuleWriter& rules, const CallRow& row, const Json& schema,
                       const Json& root) {
  if (is_text(schema)) return text_value(rules, row.value_close, schema);
  return fmt::format(R"({} "\n"? {})", json_value(rules, schema, root),
                     rules.marker(row.value_close));
}

std::string parameter_rule(RuleWriter& rules, const CallRow& row, const std::string& name,
                           const Json& schema, const Json& root) {
  std::string opening = std::string(row.parameter) + name + std::string(row.after_key);
  const bool has_attribute = row.after_key.ends_with("=\"");
  if (has_attribute) opening += is_text(schema) ? "true" : "false";
  const std::string line = R"("\n"?)";
  // A line break after the opening tag would become part of a text.
  const std::string before = row.value_open.empty() || has_attribute ? "" : line + " ";
  return fmt::format("{} {}{} {} {} {}", rules.marker(opening), before,
                     rules.marker(row.value_open), is_text(schema) ? "" : line,
                     value_rule(rules, row, schema, root), line);
}

// The properties of the arguments, with whether they are required. Throws UnsupportedError for
// conditions that cannot be enforced.
template <class Use>
void each_property(const CallableTool& tool, const Use& use) {
  // Reports errors in the schema as a whole.
  if (tool.parameters.empty()) return;
  Grammar::from_json_schema(tool.parameters, {.closed_objects = true});
  const Json schema = Json::parse(tool.parameters);
  std::set<std::string> required;
  if (schema.contains("required"))
    for (const Json& name : schema["required"]) required.insert(name.get<std::string>());
  for (const char* keyword : {"$ref", "allOf", "anyOf", "oneOf", "patternProperties"})
    if (schema.contains(keyword))
      fail<UnsupportedError>("\"{}\" of the arguments cannot be enforced in this notation",
                             keyword);
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, value] : properties.items())
    use(name, value, schema, required.erase(name) > 0);
  if (!required.empty())
    fail<UnsupportedError>("the required argument \"{}\" has no schema", *required.begin());
}

std::string braced_member(RuleWriter& rules, const CallRow& row, const std::string& name,
                          const Json& schema, const Json& root) {
  const std::string quote = rules.marker(row.quote);
  const bool plain = name.find_first_of(":{}[],\" \n") == std::string::npos && !name.empty();
  const std::string key = plain ? gbnf_literal(name + ":")
                                : fmt::format("{} {} {} \":\"", quote, gbnf_literal(name), quote);
  if (!is_text(schema)) return key + " " + json_value(rules, schema, root);
  return fmt::format("{} {} {}", key, quote, text_value(rules, row.quote, schema));
}

}  // namespace

std::string tagged_parameters(RuleWriter& rules, const CallRow& row, const CallableTool& tool) {
  return naming_tool(tool, [&]() -> std::string {
    std::string all;
    each_property(tool,
                  [&](const std::string& name, const Json& value, const Json& root, bool required) {
                    const std::string one = parameter_rule(rules, row, name, value, root);
                    all += required ? one + " " : "(" + one + ")? ";
                  });
    return all;
  });
}

std::string braced_arguments(RuleWriter& rules, const CallRow& row, const CallableTool& tool) {
  return naming_tool(tool, [&]() -> std::string {
    struct Member {
      std::string rule;
      bool required;
    };
    std::vector<Member> members;
    each_property(tool,
                  [&](const std::string& name, const Json& value, const Json& root, bool required) {
                    members.push_back({braced_member(rules, row, name, value, root), required});
                  });
    // The rules for the text after a member, and for the text before the first one.
    std::string after = rules.rule(R"("}")"), first = after;
    for (std::size_t i = members.size(); i-- > 0;) {
      const std::string one = rules.rule(members[i].rule + " " + after);
      first = members[i].required ? one : rules.rule(one + " | " + first);
      after = rules.rule(members[i].required ? "\",\" " + one : "\",\" " + one + " | " + after);
    }
    return R"("{" )" + first;
  });
}

}  // namespace weft::reply
