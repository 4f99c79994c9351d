#include "weft/api/fields.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/api/errors.h"
#include "weft/base/json_string.h"
#include "weft/base/utf8.h"

namespace weft::api {
namespace {

// A value as messages show it.
std::string shown(const Json& json) {
  constexpr std::size_t kMaxShown = 60;
  if (json.is_array() && json.size() > 8) return fmt::format("a list of {}", json.size());
  if (json.is_object() && json.size() > 4) return "an object";
  std::string text = to_text(json);
  if (text.size() <= kMaxShown) return text;
  text.resize(kMaxShown);
  text.resize(text.size() - unfinished_utf8(text));
  return text + "..";
}

}  // namespace

std::string Path::text() const {
  if (is_body_) return {};
  std::string text = parent_ ? parent_->text() : "";
  if (name_.data() == nullptr) return text + fmt::format("[{}]", index_);
  constexpr std::size_t kMaxName = 200;
  return text + (text.empty() ? "" : ".") + std::string(name_.substr(0, kMaxName));
}

void refuse(const Path& path, std::string_view expected, const Json& got) {
  throw bad_request(path.text(), fmt::format("expected {}, got {}", expected, shown(got)));
}

void refuse(const Path& path, std::string_view problem) {
  throw bad_request(path.text(), problem);
}

JsonTypes type_of(const Json& json) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return kBoolean;
    case Json::value_t::number_integer:
    case Json::value_t::number_unsigned:
    case Json::value_t::number_float:
      return kNumber;
    case Json::value_t::string:
      return kString;
    case Json::value_t::array:
      return kArray;
    case Json::value_t::object:
      return kObject;
    default:
      return 0;
  }
}

void FieldList::insert(Field field) {
  const auto [at, added] = index_.try_emplace(field.name, fields_.size());
  if (!added) fail<ValueError>("the field '{}' is in the table twice", field.name);
  fields_.push_back(std::move(field));
}

void FieldList::insert_aliases(const std::vector<std::string_view>& names, std::string_view of) {
  for (const std::string_view name : names) {
    if (name == of) continue;
    Field field = fields_[index_.find(of)->second];
    field.name = name;
    field.doc = fmt::format("Another name of {}.", of);
    field.required = false;
    field.alias_of = of;
    insert(std::move(field));
  }
}

void FieldList::check_aliases(const std::vector<const Json*>& given, const Path& path) const {
  std::map<std::string_view, std::size_t> first;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const Field& field = fields_[i];
    if (!given[i]) continue;
    const auto [at, is_first] =
        first.try_emplace(field.alias_of.empty() ? field.name : field.alias_of, i);
    if (!is_first && *given[i] != *given[at->second])
      refuse(path.member(field.name),
             fmt::format("there is another value in {}", fields_[at->second].name));
  }
}

void FieldList::read_into(const Json& object, const Path& path, void* target) const {
  if (!object.is_object()) refuse(path, "an object", object);
  std::vector<const Json*> given(fields_.size(), nullptr);
  for (const auto& [name, value] : object.get_ref<const Json::object_t&>()) {
    if (value.is_null()) continue;
    if (const auto at = index_.find(name); at != index_.end()) given[at->second] = &value;
  }
  check_aliases(given, path);
  // In the order of the table, so that errors do not depend on the order of the members.
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const Field& field = fields_[i];
    if (given[i])
      field.read(*given[i], path.member(field.name), target);
    else if (field.required)
      refuse(path.member(field.name), "is required");
  }
}

std::string FieldList::schema() const {
  std::string properties, required;
  for (const Field& field : fields_) {
    Json schema = Json::parse(field.schema);
    if (schema.is_boolean()) schema = Json::object();
    if (!field.doc.empty()) schema["description"] = field.doc;
    if (!field.default_value.empty()) schema["default"] = Json::parse(field.default_value);
    properties += fmt::format("{}{}:{}", properties.empty() ? "" : ",", json_string(field.name),
                              to_text(schema));
    if (field.required) required += (required.empty() ? "" : ",") + json_string(field.name);
  }
  return fmt::format(R"({{"type":"object","properties":{{{}}}{}}})", properties,
                     required.empty() ? "" : fmt::format(R"(,"required":[{}])", required));
}

namespace fields {

std::string default_text(bool value) {
  return value ? "true" : "false";
}
std::string default_text(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "";
}
std::string default_text(std::int64_t value) {
  return std::to_string(value);
}
std::string default_text(const std::string& value) {
  return value.empty() ? "" : json_string(value);
}

FieldList::Field refused(std::string name, std::vector<std::string> allowed, std::string problem) {
  std::vector<Json> values;
  Json schema = Json::object();
  for (const std::string& text : allowed) {
    values.push_back(Json::parse(text));
    schema["enum"].push_back(values.back());
  }
  schema["enum"].push_back(nullptr);
  std::string accepted = "null";
  for (const std::string& text : allowed) accepted += " and " + text;
  FieldList::Field field{
      std::move(name), fmt::format("Values other than {} are refused: {}.", accepted, problem),
      to_text(schema), {},
      false,           {}};
  field.read = [values = std::move(values), problem](const Json& json, const Path& path, void*) {
    if (std::ranges::find(values, json) == values.end()) refuse(path, problem);
  };
  return field;
}

}  // namespace fields
}  // namespace weft::api
