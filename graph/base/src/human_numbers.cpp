#include "weft/base/human_numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

namespace weft {

std::string three_digits(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  const auto decimals_of = [](double v) {
    return std::clamp(2 - static_cast<int>(std::floor(std::log10(std::abs(v)))), 0, 12);
  };
  // 9.999 is "10.0", not "10.00".
  const int decimals = decimals_of(value);
  const double rounding = 0.5 * std::pow(10.0, -decimals);
  return fmt::format("{:.{}f}", value, decimals_of(std::abs(value) + rounding));
}

std::string human_bytes(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kNames{"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (std::fabs(value) >= 1000 && unit + 1 < kNames.size()) value /= 1024, ++unit;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kNames[unit]);
}

std::string human_ns(double ns) {
  constexpr double kNextUnit = 999.5;  // which would be rounded to 1000
  if (!std::isfinite(ns)) return "-";
  if (std::abs(ns) < kNextUnit) return fmt::format("{:.0f} ns", ns);
  const char* unit = "us";
  double value = ns / 1e3;
  for (const char* next : {"ms", "s"}) {
    if (std::abs(value) < kNextUnit) break;
    value /= 1e3;
    unit = next;
  }
  return three_digits(value) + ' ' + unit;
}

}  // namespace weft
