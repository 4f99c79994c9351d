#pragma once
// E2M1, numbers of 4 bits: a sign, two bits of exponent, one of mantissa. They are kept doubled, as
// integers: 0, 1, 2, 3, 4, 6, 8, 12 and their opposites, so scales that go with them are half of
// what the format says.

#include <cmath>
#include <cstdint>

namespace weft::formats {

inline constexpr int kE2M1Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

// The code nearest to x / half_scale, of two the one nearer to zero; zero is always code 0.
inline int nearest_e2m1(float x, float half_scale) {
  const float magnitude = std::fabs(x);
  int best = 0;
  float least = magnitude;
  for (int i = 1; i < 8; ++i) {
    const float distance = std::fabs(static_cast<float>(kE2M1Doubled[i]) * half_scale - magnitude);
    if (distance < least) {
      least = distance;
      best = i;
    }
  }
  return best != 0 && x < 0 ? best + 8 : best;
}

// Weighted squared error of n numbers at a scale.
inline double e2m1_error(const float* x, const float* weight, int n, float half_scale) {
  double error = 0;
  for (int i = 0; i < n; ++i) {
    const float value = static_cast<float>(kE2M1Doubled[nearest_e2m1(x[i], half_scale)]);
    const double e = double{x[i]} - double{value} * half_scale;
    error += weight[i] * e * e;
  }
  return error;
}

}  // namespace weft::formats
