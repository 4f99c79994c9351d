#pragma once
// Code shared by IQ1_S and IQ1_M: eight weights as a scale times a point of ternary coordinates,
// shifted up or down by kIQ1Delta.

#include "formats/grids/iq_magnitudes.h"

namespace weft::formats {

inline float ternary_shift(unsigned negative) {
  return negative != 0 ? -kIQ1Delta : kIQ1Delta;
}

inline void decode_shifted(float scale, unsigned negative, unsigned point, float* out) {
  for (std::size_t i = 0; i < 8; ++i)
    out[i] = scale * (static_cast<float>(kIQ1Grid[point][i]) + ternary_shift(negative));
}

// The point for 8 values at a scale > 0.
inline Sums quantize_shifted(const float* x, const float* w, float scale, int negative,
                             std::uint16_t& point) {
  const auto& lattice = lattice_of<kIQ1Grid, kIQ1Values>();
  const float shift = ternary_shift(static_cast<unsigned>(negative));
  float costs[8][3];
  for (int i = 0; i < 8; ++i) {
    for (int v = 0; v < 3; ++v) {
      const float g = scale * (static_cast<float>(v - 1) + shift);
      costs[i][v] = w[i] * g * (g - 2 * x[i]);
    }
  }
  point = static_cast<std::uint16_t>(lattice.nearest(costs));
  Sums sums;
  for (int i = 0; i < 8; ++i)
    sums.add(w[i], lattice.point(point)[static_cast<std::size_t>(i)] + shift, x[i]);
  return sums;
}

template <class Format>
struct Ternary {
  static constexpr int kSubs = Format::kSubs, kSub = Format::kSub;
  static constexpr int kLevels = 8, kTopStep = 15;
  static constexpr int kScales = 10;
  static constexpr bool kSigned = false;
  static constexpr double kUnit = 1;
  static constexpr float kTop = 1, kFrom = 0.15f, kTo = 1.1f;
  static constexpr int step(int level) { return 2 * level + 1; }
  struct Codes {
    std::uint16_t point[kSub / 8];
    int negative[kSub / 8];
  };
};

}  // namespace weft::formats
