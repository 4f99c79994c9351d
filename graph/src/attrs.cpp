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

namespace attrs {
namespace {

[[noreturn]] void refuse_value(const NamedAttr& given, std::string_view wanted) {
  const bool text = std::holds_alternative<std::string_view>(given.value);
  fail<ValueError>("{} must be {}, got {}{}{}", given.name, wanted, text ? "'" : "",
                   to_string(given.value), text ? "'" : "");
}

}  // namespace

bool as_bool(const NamedAttr& given) {
  if (const bool* b = std::get_if<bool>(&given.value)) return *b;
  if (const std::int64_t* i = std::get_if<std::int64_t>(&given.value); i && (*i == 0 || *i == 1))
    return *i == 1;
  refuse_value(given, "true or false");
}

std::int64_t as_integer(const NamedAttr& given, std::int64_t min, std::int64_t max) {
  const std::int64_t* i = std::get_if<std::int64_t>(&given.value);
  if (!i) refuse_value(given, "a whole number");
  if (*i < min || *i > max) refuse_value(given, fmt::format("from {} to {}", min, max));
  return *i;
}

double as_number(const NamedAttr& given) {
  if (const float* f = std::get_if<float>(&given.value)) return static_cast<double>(*f);
  if (const double* d = std::get_if<double>(&given.value)) return *d;
  if (const std::int64_t* i = std::get_if<std::int64_t>(&given.value))
    return static_cast<double>(*i);
  refuse_value(given, "a number");
}

std::string_view as_text(const NamedAttr& given) {
  if (const auto* text = std::get_if<std::string_view>(&given.value)) return *text;
  refuse_value(given, "a text");
}

void refuse_choice(const NamedAttr& given, std::span<const std::string> known) {
  refuse_value(given, fmt::format("one of {}", fmt::join(known, ", ")));
}

void refuse_name(std::string_view name, std::span<const std::string_view> known) {
  if (known.empty()) fail<ValueError>("has no attribute '{}' (it has none)", name);
  fail<ValueError>("has no attribute '{}' (it has {})", name, fmt::join(known, ", "));
}

void refuse_twice(std::span<const NamedAttr> values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (values[i].name == values[j].name)
        fail<ValueError>("attribute '{}' is given twice", values[i].name);
    }
  }
}

}  // namespace attrs

void Attrs::refuse(const std::type_info& wanted) const {
  fail<ValueError>("attributes {} are of type {}, not {}", to_json(), type_->id->name(),
                   wanted.name());
}

}  // namespace weft
