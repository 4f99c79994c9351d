#include "weft/api/forms.h"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/json_string.h"
#include "weft/base/knob.h"

namespace weft::api {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using Limits = std::numeric_limits<std::int64_t>;

std::string range_schema(std::string_view type, const std::string& min, const std::string& max) {
  return fmt::format(R"({{"type":"{}"{}{}}})", type, min.empty() ? "" : ",\"minimum\":" + min,
                     max.empty() ? "" : ",\"maximum\":" + max);
}

}  // namespace

Form<bool> boolean() {
  return {"true or false", R"({"type":"boolean"})", kBoolean,
          [](const Json& json, const Path&) { return json.get<bool>(); }};
}

Form<std::int64_t> whole(std::int64_t min, std::int64_t max) {
  const std::string lo = min == Limits::min() ? "" : std::to_string(min);
  const std::string hi = max == Limits::max() ? "" : std::to_string(max);
  const std::string expected =
      expected_number(true, {.min = lo.empty() ? -kInfinity : static_cast<double>(min),
                             .max = hi.empty() ? kInfinity : static_cast<double>(max)});
  return {expected, range_schema("integer", lo, hi), kNumber,
          [expected, min, max](const Json& json, const Path& path) {
            std::int64_t value = 0;
            if (json.is_number_float()) {
              const auto real = json.get<double>();
              constexpr double kLimit = 9223372036854775808.0;  // 2^63
              if (real != std::floor(real) || real < -kLimit || real >= kLimit)
                refuse(path, expected, json);
              value = static_cast<std::int64_t>(real);
            } else if (json.is_number_unsigned() &&
                       json.get<std::uint64_t>() > static_cast<std::uint64_t>(Limits::max())) {
              refuse(path, expected, json);
            } else {
              value = json.get<std::int64_t>();
            }
            if (value < min || value > max) refuse(path, expected, json);
            return value;
          }};
}

Form<double> number(double min, double max) {
  const std::string lo = min == -kInfinity ? "" : fmt::format("{:g}", min);
  const std::string hi = max == kInfinity ? "" : fmt::format("{:g}", max);
  const std::string expected = expected_number(false, {min, max});
  return {expected, range_schema("number", lo, hi), kNumber,
          [expected, min, max](const Json& json, const Path& path) {
            const auto value = json.get<double>();
            if (!(value >= min && value <= max)) refuse(path, expected, json);
            return value;
          }};
}

Form<std::string> text() {
  return {"a text", R"({"type":"string"})", kString,
          [](const Json& json, const Path&) { return json.get<std::string>(); }};
}

Form<std::string> nonempty_text() {
  return {"a text", R"({"type":"string","minLength":1})", kString,
          [](const Json& json, const Path& path) {
            if (forms::string(json).empty()) refuse(path, "must not be empty");
            return json.get<std::string>();
          }};
}

Form<std::string> word(const std::vector<std::string>& words) {
  const std::string expected = forms::words_text(words);
  return {expected, forms::enum_schema(words), kString,
          [words, expected](const Json& json, const Path& path) {
            for (const std::string& w : words)
              if (w == forms::string(json)) return w;
            refuse(path, expected, json);
          }};
}

Form<std::string> json_text(JsonTypes types, std::string expected, std::string schema) {
  return {std::move(expected), std::move(schema), types,
          [](const Json& json, const Path&) { return to_text(json); }};
}

Form<std::string> object_text() {
  return json_text(kObject, "an object", R"({"type":"object"})");
}

Form<const Json*> raw(JsonTypes types, std::string expected, std::string schema) {
  return {std::move(expected), std::move(schema), types,
          [](const Json& json, const Path&) { return &json; }};
}

namespace forms {

std::size_t size(const Json& array_or_object) {
  return array_or_object.size();
}
const Json& item(const Json& array, std::size_t index) {
  return array[index];
}
const std::string& string(const Json& json) {
  return json.get_ref<const std::string&>();
}

void each_member(const Json& object,
                 const std::function<void(const std::string&, const Json&)>& use) {
  for (const auto& [name, value] : object.get_ref<const Json::object_t&>()) use(name, value);
}

void check_size(std::size_t n, std::size_t min, std::size_t max, const Path& path) {
  if (n < min)
    refuse(path, min == 1 ? "must not be empty" : fmt::format("must have at least {} items", min));
  if (n > max) refuse(path, fmt::format("may have at most {} items, got {}", max, n));
}

std::string list_schema(std::string_view item, std::size_t min, std::size_t max) {
  return fmt::format(
      R"({{"type":"array","items":{}{}{}}})", item,
      min == 0 ? "" : fmt::format(",\"minItems\":{}", min),
      max == std::numeric_limits<std::size_t>::max() ? "" : fmt::format(",\"maxItems\":{}", max));
}

std::string enum_schema(const std::vector<std::string>& words) {
  return to_text({{"type", "string"}, {"enum", words}});
}

std::string words_text(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + json_string(words[i]);
  return text;
}

std::string map_schema(std::string_view value) {
  return fmt::format(R"({{"type":"object","additionalProperties":{}}})", value);
}

std::string either_schema(std::string_view a, std::string_view b) {
  return fmt::format(R"({{"anyOf":[{},{}]}})", a, b);
}

}  // namespace forms
}  // namespace weft::api
