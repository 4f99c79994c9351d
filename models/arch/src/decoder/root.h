#pragma once
// The square root of a width.

#include <cmath>
#include <cstdint>

namespace weft::arch {

// In f32.
inline float root(std::int64_t n) {
  return std::sqrt(static_cast<float>(n));
}

}  // namespace weft::arch
