#pragma once
// Code shared by IQ2 and IQ3: eight weights are magnitudes of one point of a grid, or of two, and
// eight signs.

#include "formats/search/lattice.h"
#include "formats/search/scale_search.h"

namespace weft::formats {

// Built on first use and kept.
template <const auto& kGrid, const auto& kValues>
const auto& lattice_of() {
  static const Lattice lattice(kGrid, kValues);
  return lattice;
}

// `points`: one of 8 coordinates or two of 4.
template <std::size_t kDims, class... Points>
void decode_eight(float scale, unsigned signs, float* out,
                  const std::array<std::int8_t, kDims>& point, const Points&... points) {
  for (std::size_t i = 0; i < kDims; ++i) {
    const float magnitude = scale * static_cast<float>(point[i]);
    out[i] = signs >> i & 1 ? -magnitude : magnitude;
  }
  if constexpr (sizeof...(points) > 0) decode_eight(scale, signs >> kDims, out + kDims, points...);
}

// The description of an IQ2 or IQ3 format for ScaleSearch. Scales are odd multiples of a unit,
// which is d / kDivisor.
template <class Format, const auto& kGrid, const auto& kValues, bool kEvenSigns, int kDivisor>
struct Magnitudes {
  static constexpr int kSubs = Format::kSubs, kSub = Format::kSub, kVariants = 1;
  static constexpr int kLevels = 16, kTopStep = 31;
  static constexpr int kScales = 10;
  static constexpr bool kSigned = false;
  static constexpr double kUnit = 1.0 / kDivisor;
  static constexpr float kTop = kValues.back(), kFrom = 0.45f, kTo = 1.35f;
  static constexpr int step(int level) { return 2 * level + 1; }
  struct Codes {
    Eight eights[kSub / 8];
  };
  static Sums quantize(const float* x, const float* w, float scale, int, Codes& codes) {
    const auto& lattice = lattice_of<kGrid, kValues>();
    Sums sums;
    for (int i = 0; i < kSub / 8; ++i)
      sums += quantize_eight<kEvenSigns>(lattice, x + 8 * i, w + 8 * i, scale, codes.eights[i]);
    return sums;
  }
};

}  // namespace weft::formats
