#pragma once
#include <string>

#include <fmt/format.h>

namespace weft::tools {

// "12.5 %"; "-" if the whole is 0 or unknown.
inline std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "-";
}

}  // namespace weft::tools
