// Metadata by type: the find_* members of Checkpoint, and to_uint, which the readers use.

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"

#include "file_part.h"

namespace weft {
namespace {

std::string describe(const MetaValue& value) {
  const MetaArray* array = as_array(value);
  if (!array) return std::string(to_string(value.type));
  return fmt::format("an array of {}", to_string(array->element));
}

[[noreturn]] void mismatch(const std::string& file, std::string_view key, std::string_view expected,
                           const std::string& got) {
  fail<FormatError>("{}: key '{}' must be {}, got {}", printable_path(file), printable(key),
                    expected, got);
}

}  // namespace

const MetaValue* files::FilePart::find(std::string_view key) const {
  const auto found =
      std::lower_bound(by_key.begin(), by_key.end(), key,
                       [&](std::uint32_t i, std::string_view k) { return metadata[i].key < k; });
  if (found == by_key.end() || metadata[*found].key != key) return nullptr;
  return &metadata[*found].value;
}

std::uint64_t files::to_uint(const MetaValue& value, std::string_view key,
                             const std::string& file) {
  if (const auto* u = std::get_if<std::uint64_t>(&value.value)) return *u;
  if (const auto* i = std::get_if<std::int64_t>(&value.value)) {
    if (*i >= 0) return static_cast<std::uint64_t>(*i);
    mismatch(file, key, "an unsigned integer", fmt::format("{}", *i));
  }
  mismatch(file, key, "an unsigned integer", describe(value));
}

std::optional<std::uint64_t> Checkpoint::find_uint(std::string_view key) const {
  const MetaValue* value = find(key);
  if (!value) return std::nullopt;
  return files::to_uint(*value, key, path());
}

std::optional<std::int64_t> Checkpoint::find_int(std::string_view key) const {
  const MetaValue* value = find(key);
  if (!value) return std::nullopt;
  if (const auto* i = std::get_if<std::int64_t>(&value->value)) return *i;
  if (const auto* u = std::get_if<std::uint64_t>(&value->value)) {
    if (*u <= INT64_MAX) return static_cast<std::int64_t>(*u);
    mismatch(path(), key, "an integer below 2^63", fmt::format("{}", *u));
  }
  mismatch(path(), key, "an integer", describe(*value));
}

std::optional<double> Checkpoint::find_float(std::string_view key) const {
  const MetaValue* value = find(key);
  if (!value) return std::nullopt;
  if (const auto* d = std::get_if<double>(&value->value)) return *d;
  if (const auto* u = std::get_if<std::uint64_t>(&value->value)) return static_cast<double>(*u);
  if (const auto* i = std::get_if<std::int64_t>(&value->value)) return static_cast<double>(*i);
  mismatch(path(), key, "a number", describe(*value));
}

std::optional<bool> Checkpoint::find_bool(std::string_view key) const {
  const MetaValue* value = find(key);
  if (!value) return std::nullopt;
  if (const auto* b = std::get_if<bool>(&value->value)) return *b;
  mismatch(path(), key, "a bool", describe(*value));
}

std::optional<std::string_view> Checkpoint::find_string(std::string_view key) const {
  const MetaValue* value = find(key);
  if (!value) return std::nullopt;
  if (const auto* s = std::get_if<std::string_view>(&value->value)) return *s;
  mismatch(path(), key, "a string", describe(*value));
}

std::optional<std::vector<std::string_view>> Checkpoint::find_strings(std::string_view key) const {
  const MetaValue* value = find(key);
  if (!value) return std::nullopt;
  const MetaArray* array = as_array(*value);
  if (!array || array->element != MetaType::string)
    mismatch(path(), key, "an array of strings", describe(*value));
  return std::get<std::vector<std::string_view>>(array->values);
}

std::optional<std::vector<bool>> Checkpoint::find_bools(std::string_view key) const {
  const MetaValue* value = find(key);
  if (!value) return std::nullopt;
  const MetaArray* array = as_array(*value);
  if (!array || array->element != MetaType::boolean)
    mismatch(path(), key, "an array of bools", describe(*value));
  return std::get<std::vector<bool>>(array->values);
}

std::optional<std::vector<float>> Checkpoint::find_floats(std::string_view key) const {
  const MetaValue* value = find(key);
  if (!value) return std::nullopt;
  const MetaArray* array = as_array(*value);
  const auto* numbers = array ? std::get_if<std::vector<double>>(&array->values) : nullptr;
  if (!numbers) mismatch(path(), key, "an array of floats", describe(*value));
  std::vector<float> floats;
  floats.reserve(numbers->size());
  for (const double d : *numbers) {
    if (std::isfinite(d) && std::fabs(d) > FLT_MAX)
      mismatch(path(), key, "an array of f32", fmt::format("{}", d));
    floats.push_back(static_cast<float>(d));
  }
  return floats;
}

std::optional<std::vector<std::int64_t>> Checkpoint::find_ints(std::string_view key) const {
  const MetaValue* value = find(key);
  if (!value) return std::nullopt;
  const MetaArray* array = as_array(*value);
  if (array) {
    if (const auto* i = std::get_if<std::vector<std::int64_t>>(&array->values)) return *i;
    if (const auto* u = std::get_if<std::vector<std::uint64_t>>(&array->values)) {
      std::vector<std::int64_t> ints;
      ints.reserve(u->size());
      for (const std::uint64_t n : *u) {
        if (n > INT64_MAX)
          mismatch(path(), key, "an array of integers below 2^63", fmt::format("{}", n));
        ints.push_back(static_cast<std::int64_t>(n));
      }
      return ints;
    }
  }
  mismatch(path(), key, "an array of integers", describe(*value));
}

}  // namespace weft
