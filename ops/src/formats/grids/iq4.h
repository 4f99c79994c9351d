#pragma once
// Code shared by IQ4_NL and IQ4_XS: 32 weights as a scale times one of 16 uneven values.

#include "formats/search/scale_search.h"

namespace weft::formats {

constexpr int kSixteenBytes = 16;  // byte j holds codes j (low nibble) and j + 16

inline void decode_sixteen(float scale, const std::uint8_t* q, float* out) {
  for (int j = 0; j < kSixteenBytes; ++j) {
    out[j] = scale * static_cast<float>(kIQ4Values[q[j] & 15]);
    out[j + kSixteenBytes] = scale * static_cast<float>(kIQ4Values[q[j] >> 4]);
  }
}

// The code nearest to a number of half steps. Values are integers, so all numbers between two half
// steps have the same nearest value.
inline constexpr int kHalfSteps = 256;  // from -128 to 127.5
inline constexpr auto kNearestSixteenth = [] {
  std::array<std::uint8_t, kHalfSteps * 2> nearest{};
  std::size_t code = 0;
  for (int i = 0; i < kHalfSteps * 2; ++i) {
    const double middle = i * 0.5 - 128 + 0.25;
    while (code + 1 < kIQ4Values.size() && middle * 2 > kIQ4Values[code] + kIQ4Values[code + 1])
      ++code;
    nearest[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(code);
  }
  return nearest;
}();

template <int kSubOf, int kSubsOf, int kLevelsOf>
struct Sixteens {
  static constexpr int kSub = kSubOf, kSubs = kSubsOf, kVariants = 1, kLevels = kLevelsOf;
  static constexpr int kTopStep = kLevels == 1 ? 1 : kLevels / 2;
  static constexpr int kScales = 12;
  static constexpr bool kSigned = true;
  static constexpr double kUnit = 1;
  static constexpr float kTop = 127, kFrom = 0.8f, kTo = 1.3f;
  static constexpr int step(int level) { return kLevels == 1 ? 1 : level - kLevels / 2; }
  struct Codes {
    std::uint8_t q[kSub];
  };
  static Sums quantize(const float* x, const float* w, float scale, int, Codes& codes) {
    const float inverse = 2 / scale;
    for (int i = 0; i < kSub; ++i) {
      const float at = std::clamp(x[i] * inverse + 256, 0.0f, 511.0f);
      codes.q[i] = kNearestSixteenth[static_cast<std::size_t>(static_cast<int>(at))];
    }
    float gg[4] = {}, gx[4] = {};
    for (int i = 0; i < kSub; i += 4) {
      for (int j = 0; j < 4; ++j) {
        const float g = kIQ4Values[codes.q[i + j]], wg = w[i + j] * g;
        gg[j] += wg * g;
        gx[j] += wg * x[i + j];
      }
    }
    return {(gg[0] + gg[1]) + (gg[2] + gg[3]), (gx[0] + gx[1]) + (gx[2] + gx[3])};
  }
};

template <class Codes>
void pack_sixteen(const Codes& codes, std::uint8_t* q) {
  for (int j = 0; j < kSixteenBytes; ++j)
    q[j] = static_cast<std::uint8_t>(codes.q[j] | codes.q[j + kSixteenBytes] << 4);
}

}  // namespace weft::formats
