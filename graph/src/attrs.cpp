#include "weft/graph/attrs.h"

#include <cmath>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/json_string.h"

namespace weft {
namespace {

// JSON has neither infinities nor NaN: they become strings.
bool is_string_in_json(const AttrValue& value) {
  if (std::holds_alternative<std::string_view>(value)) return true;
  if (const float* f = std::get_if<float>(&value)) return !std::isfinite(*f);
  if (const double* d = std::get_if<double>(&value)) return !std::isfinite(*d);
  return false;
}

}  // namespace

std::string to_string(const AttrValue& value) {
  return std::visit([](const auto& v) { return fmt::format("{}", v); }, value);
}

std::string Attrs::to_json() const {
  std::string json = "{";
  for_each([&](std::string_view name, const AttrValue& value) {
    const std::string text = to_string(value);
    json += fmt::format("{}{}:{}", json.size() > 1 ? "," : "", json_string(name),
                        is_string_in_json(value) ? json_string(text) : text);
  });
  return json + "}";
}

void Attrs::refuse(const std::type_info& wanted) const {
  fail<ValueError>("attributes {} are of type {}, not {}", to_json(), type_->id->name(),
                   wanted.name());
}

}  // namespace weft
