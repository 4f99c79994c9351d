#include "weft/base/knob.h"

#include <cmath>

#include <fmt/format.h>

#include "weft/base/error.h"

namespace weft {

std::vector<std::string_view> KnobText::names() const {
  std::vector<std::string_view> all{name};
  for (const std::string_view alias : aliases)
    if (!alias.empty()) all.push_back(alias);
  return all;
}

const KnobText& find_knob(std::span<const KnobText> texts, std::string_view name) {
  return *std::ranges::find(texts, name, &KnobText::name);
}

std::string limits_text(bool whole, KnobRange range) {
  const auto text = [whole](double limit) {
    return whole ? fmt::format("{:.0f}", limit) : fmt::format("{:g}", limit);
  };
  const bool has_min = std::isfinite(range.min), has_max = std::isfinite(range.max);
  if (has_min && has_max) return fmt::format("from {} to {}", text(range.min), text(range.max));
  if (has_min) return "from " + text(range.min);
  return has_max ? "up to " + text(range.max) : "";
}

std::string expected_number(bool whole, KnobRange range) {
  const std::string what = whole ? "a whole number" : "a number",
                    limits = limits_text(whole, range);
  return limits.empty() ? what : what + " " + limits;
}

void check_number(const KnobText& text, KnobRange range, std::int64_t value) {
  if (range.contains(static_cast<double>(value))) return;
  fail<ValueError>("{} must be {}, got {}", text.name, expected_number(true, range), value);
}

void check_number(const KnobText& text, KnobRange range, double value) {
  if (std::isfinite(value) && range.contains(value)) return;
  fail<ValueError>("{} must be {}, got {:g}", text.name, expected_number(false, range), value);
}

void no_such_option(std::string_view name) {
  fail<Error>("there is no option '{}'", name);
}

}  // namespace weft
