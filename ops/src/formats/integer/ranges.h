#pragma once
// Code shared by encoders without a search: the extremes of a block, and inverses of scales.

#include <cfloat>
#include <cmath>

namespace weft::formats {

inline float largest_magnitude(const float* x, int n) {
  float amax = 0;
  for (int i = 0; i < n; ++i) amax = std::fabs(x[i]) > amax ? std::fabs(x[i]) : amax;
  return amax;
}

// The first value of largest magnitude, with its sign.
inline float extreme(const float* x, int n) {
  float best = 0;
  for (int i = 0; i < n; ++i) {
    if (std::fabs(x[i]) > std::fabs(best)) best = x[i];
  }
  return best;
}

// 1 / d, or 0 if d is subnormal: it reads back as 0, and its inverse would overflow.
inline float inverse_scale(float d) {
  return std::fabs(d) >= FLT_MIN ? 1 / d : 0;
}

}  // namespace weft::formats
