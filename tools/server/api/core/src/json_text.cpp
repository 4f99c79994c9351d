#include "weft/api/json_text.h"

#include <cmath>

#include <fmt/format.h>

#include "weft/base/json_string.h"

namespace weft::api {
namespace json_out {
namespace {

template <class F>
void append_real(std::string& out, F value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  const std::size_t begin = out.size();
  fmt::format_to(std::back_inserter(out), "{}", value);
  // Readers that distinguish real from whole numbers see a real one.
  if (out.find_first_of(".e", begin) == std::string::npos) out += ".0";
}

}  // namespace

void append(std::string& out, bool value) {
  out += value ? "true" : "false";
}
void append(std::string& out, std::int64_t value) {
  fmt::format_to(std::back_inserter(out), "{}", value);
}
void append(std::string& out, std::uint64_t value) {
  fmt::format_to(std::back_inserter(out), "{}", value);
}
void append(std::string& out, double value) {
  append_real(out, value);
}
void append(std::string& out, float value) {
  append_real(out, value);
}
void append(std::string& out, std::string_view value) {
  append_json_string(out, value);
}

}  // namespace json_out

void JsonObject::open(std::string_view name) {
  if (text_.size() > 1) text_ += ',';
  text_ += '"';
  text_ += name;
  text_ += "\":";
}

JsonObject& JsonObject::add_json(std::string_view name, std::string_view json) {
  open(name);
  text_ += json;
  return *this;
}

JsonObject& JsonObject::add_or_null(std::string_view name, std::string_view text) {
  return text.empty() ? add_null(name) : add(name, text);
}

JsonArray& JsonArray::add_json(std::string_view json) {
  separate();
  text_ += json;
  return *this;
}

}  // namespace weft::api
