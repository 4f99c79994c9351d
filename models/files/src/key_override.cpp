#include "weft/files/key_override.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/gguf_limits.h"
#include "weft/files/gguf_writer.h"

namespace weft {
namespace {

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

using Value = decltype(KeyOverride::value);
using Read = std::optional<Value> (*)(std::string_view);

std::optional<Value> read_int(std::string_view text) {
  const auto value = number<std::int64_t>(text);
  return value ? std::optional<Value>(*value) : std::nullopt;
}
std::optional<Value> read_float(std::string_view text) {
  const auto value = number<double>(text);
  return value && std::isfinite(*value) ? std::optional<Value>(*value) : std::nullopt;
}
std::optional<Value> read_bool(std::string_view text) {
  if (text != "true" && text != "false") return std::nullopt;
  return text == "true";
}
std::optional<Value> read_text(std::string_view text) {
  return std::string(text);
}

struct Type {
  std::string_view name, expected;
  Read read;
};
constexpr Type kTypes[] = {{"int", "a whole number of 64 bits", read_int},
                           {"float", "a finite number", read_float},
                           {"bool", "true or false", read_bool},
                           {"str", "", read_text}};

// The type that "KEY=TYPE:..." names; null if the text does not begin like that.
const Type* type_of(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0 || text.find(',') < equals) return nullptr;
  const std::string_view rest = text.substr(equals + 1);
  for (const Type& type : kTypes) {
    if (rest.starts_with(type.name) && rest.substr(type.name.size()).starts_with(':')) return &type;
  }
  return nullptr;
}

// The length of the first override of several.
std::size_t first_length(std::string_view text) {
  std::size_t comma = text.find(',');
  while (comma != text.npos && !type_of(text.substr(comma + 1))) comma = text.find(',', comma + 1);
  return std::min(comma, text.size());
}

void check_key(std::string_view key) {
  if (is_layout_key(key) || key.size() > gguf::kMaxKeyBytes)
    fail<ValueError>("key '{}' cannot be overridden", printable(key, 100));
}

KeyOverride parse_one(std::string_view text) {
  const Type* type = type_of(text);
  if (!type) {
    fail<ValueError>("'{}' must be KEY=TYPE:VALUE, TYPE one of int, float, bool, str",
                     printable(text));
  }
  const std::string_view key = text.substr(0, text.find('='));
  const std::string_view value = text.substr(key.size() + 1 + type->name.size() + 1);
  check_key(key);
  const auto read = type->read(value);
  if (!read)
    fail<ValueError>("the value of key '{}' must be {}, got '{}'", printable(key), type->expected,
                     printable(value));
  return {std::string(key), *read};
}

}  // namespace

void check(const KeyOverride& given) {
  check_key(given.key);
  const auto* number = std::get_if<double>(&given.value);
  if (number && !std::isfinite(*number))
    fail<ValueError>("the value of key '{}' must be a finite number, got {}", printable(given.key),
                     *number);
}

std::vector<KeyOverride> parse_key_overrides(std::string_view text) {
  std::vector<KeyOverride> overrides;
  for (bool more = true; more;) {
    const std::size_t n = first_length(text);
    overrides.push_back(parse_one(text.substr(0, n)));
    more = n < text.size();
    if (more) text.remove_prefix(n + 1);
  }
  return overrides;
}

}  // namespace weft
