#include "weft/arch/keys.h"

#include <algorithm>

namespace weft::arch {

std::string Keys::name(std::string_view key) const {
  return fmt::format("{}.{}", arch_, key);
}

void Keys::missing(std::string_view key) const {
  fail<FormatError>("{}: key '{}' is missing", source_->file(), name(key));
}

std::int64_t Keys::in_range(std::string_view key, std::int64_t value, std::int64_t min,
                            std::int64_t max) const {
  if (value < min || value > max) refuse(key, value, fmt::format("{}..{}", min, max));
  return value;
}

std::optional<std::int64_t> Keys::find_count(std::string_view key, std::int64_t max) const {
  const std::vector<std::int64_t> values = source_->find_ints(name(key));
  if (values.empty()) return std::nullopt;
  if (std::ranges::any_of(values, [&](std::int64_t v) { return v != values.front(); })) {
    fail<UnsupportedError>("{}: key '{}' differs from layer to layer, must be one number",
                           source_->file(), name(key));
  }
  return in_range(key, values.front(), 1, max);
}

std::int64_t Keys::count(std::string_view key, std::int64_t max) const {
  if (const auto value = find_count(key, max)) return *value;
  if (!source_->make_up(name(key))) missing(key);
  return find_count(key, max).value();
}

std::int64_t Keys::count_or(std::string_view key, std::int64_t max, std::int64_t fallback) const {
  return find_count(key, max).value_or(fallback);
}

std::int64_t Keys::size_or(std::string_view key, std::int64_t min, std::int64_t max,
                           std::int64_t fallback) const {
  const std::vector<std::int64_t> values = find_counts(key, 1, min, max);
  return values.empty() ? fallback : values.front();
}

std::vector<std::int64_t> Keys::find_counts(std::string_view key, std::int64_t L, std::int64_t min,
                                            std::int64_t max) const {
  std::vector<std::int64_t> values = source_->find_ints(name(key));
  if (values.size() == 1) values.resize(static_cast<std::size_t>(L), values.front());
  if (!values.empty() && std::ssize(values) != L) {
    fail<FormatError>(
        "{}: key '{}' has {} numbers, must have one, or one for each of the {} layers",
        source_->file(), name(key), values.size(), L);
  }
  for (const std::int64_t value : values) in_range(key, value, min, max);
  return values;
}

std::optional<float> Keys::find_number(std::string_view key, double min, double max) const {
  const auto value = source_->find_float(name(key));
  if (!value) return std::nullopt;
  if (!(*value >= min && *value <= max))
    refuse(key, *value, fmt::format("within {}..{}", min, max));
  return static_cast<float>(*value);
}

float Keys::number(std::string_view key, double min, double max) const {
  if (const auto value = find_number(key, min, max)) return *value;
  if (!source_->make_up(name(key))) missing(key);
  return find_number(key, min, max).value();
}

float Keys::number_or(std::string_view key, double min, double max, float fallback) const {
  return find_number(key, min, max).value_or(fallback);
}

bool Keys::flag_or(std::string_view key, bool fallback) const {
  return source_->find_bool(name(key)).value_or(fallback);
}

}  // namespace weft::arch
