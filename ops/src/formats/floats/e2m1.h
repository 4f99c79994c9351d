#pragma once
// E2M1, numbers of 4 bits: a sign, two bits of exponent, one of mantissa. They are stored doubled,
// as integers: 0, 1, 2, 3, 4, 6, 8, 12 and their negatives, so their scales are half of those of
// the format.

#include <cmath>
#include <cstdint>
#include <cstring>

#include "formats/search/lanes.h"

namespace weft::formats {

inline constexpr int kE2M1Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// The code nearest to x / half_scale; ties go towards zero. Zero is always code 0.
inline int nearest_e2m1(float x, float half_scale) {
  const float magnitude = std::fabs(x);
  int best = 0;
  float min_distance = magnitude;
  for (int i = 1; i < 8; ++i) {
    const float distance = std::fabs(static_cast<float>(kE2M1Doubled[i]) * half_scale - magnitude);
    if (distance < min_distance) {
      min_distance = distance;
      best = i;
    }
  }
  return best != 0 && x < 0 ? best + 8 : best;
}

// Weighted squared errors of n numbers at kLanes scales; any of two equally near codes will do.
inline void e2m1_errors(const float* x, const float* weights, int n,
                        const float (&half_scales)[kLanes], float (&errors)[kLanes]) {
  run_on_lanes([&]() WEFT_LANES {
    Floats d, sum{};
    std::memcpy(&d, half_scales, sizeof(d));
    const Floats inverse = d > 0x1p-120f ? 1 / (d > 0x1p-120f ? d : all_lanes(1)) : all_lanes(0);
    for (int i = 0; i < n; ++i) {
      // In halves up to 2, in wholes up to 4, then 4 and 6; all of it doubled.
      const Floats m = all_lanes(std::fabs(x[i]));
      const Floats q = min_lanes(m * inverse, all_lanes(12));
      const Floats even = nearest_integer(q * 0.5f) * 2;
      const Floats top = q > 10 ? all_lanes(12) : all_lanes(8);
      const Floats code = q < 4 ? nearest_integer(q) : q < 8 ? even : top;
      const Floats e = m - code * d;
      sum += e * e * weights[i];
    }
    std::memcpy(errors, &sum, sizeof(sum));
  });
}

}  // namespace weft::formats
