#include "toml.h"

#include <cmath>
#include <sstream>

#include <nlohmann/json.hpp>
#include <toml++/toml.h>

#include "weft/base/error.h"

namespace weft::server {
namespace {

api::Json json_of(const toml::node& node);

api::Json json_of(const toml::table& table) {
  api::Json json = api::Json::object();
  for (const auto& [key, value] : table) json[std::string(key.str())] = json_of(value);
  return json;
}

api::Json json_of(const toml::array& array) {
  api::Json json = api::Json::array();
  for (const toml::node& item : array) json.push_back(json_of(item));
  return json;
}

template <class T>
std::string shown(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

// JSON has neither dates nor numbers that are not finite.
api::Json json_of(const toml::node& node) {
  if (const auto* table = node.as_table()) return json_of(*table);
  if (const auto* array = node.as_array()) return json_of(*array);
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return number->get();
  if (const auto* truth = node.as_boolean()) return truth->get();
  if (const auto* number = node.as_floating_point())
    return std::isfinite(number->get()) ? api::Json(number->get()) : api::Json(shown(*number));
  if (const auto* date = node.as_date()) return shown(*date);
  if (const auto* time = node.as_time()) return shown(*time);
  return shown(*node.as_date_time());
}

}  // namespace

api::Json read_toml(std::string_view text) {
  try {
    return json_of(toml::parse(text));
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    fail<FormatError>("line {}, column {}: {}", at.line, at.column, error.description());
  }
}

std::int64_t line_in_toml(std::string_view text, std::string_view path) {
  const toml::table whole = toml::parse(text);
  for (;;) {
    const auto found = toml::at_path(whole, path);
    if (found.node() && found.node() != &whole) return found.node()->source().begin.line;
    const std::size_t end = path.find_last_of(".[");
    if (end == path.npos) return 1;
    path = path.substr(0, end);
  }
}

}  // namespace weft::server
