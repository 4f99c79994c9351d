#pragma once
// Ids of experts from numbers.

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace weft::ops {

// The nearest id in 0..max; 0 for NaN.
inline std::int32_t rounded_id(double x, std::int32_t max) {
  if (!(x > 0)) return 0;
  return static_cast<std::int32_t>(std::min<double>(std::round(x), max));
}

}  // namespace weft::ops
