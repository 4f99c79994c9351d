#pragma once
// Encoders of formats whose blocks of 32 have one scale, or one scale and one minimum, in f16.

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "formats/codec.h"
#include "formats/integer/groups.h"
#include "formats/integer/ranges.h"

namespace weft::formats {

// w = d * q + m without a search: the smallest weight takes code 0, the largest the top code; codes
// use d and m before their rounding to f16.
template <class Format>
void spread(const float* in, typename Format::Block& block) {
  constexpr int n = Format::kBlock;
  const auto [low, high] = std::minmax_element(in, in + n);
  const float m = *low;
  const float d = (*high - m) / Format::kTopCode;
  const float inverse = inverse_scale(d);
  block.d = scale_to_f16(d);
  block.m = scale_to_f16(m);
  std::uint8_t codes[n];
  for (int i = 0; i < n; ++i) {
    const float code = (in[i] - m) * inverse + 0.5f;
    codes[i] = static_cast<std::uint8_t>(std::min(code, static_cast<float>(Format::kTopCode)));
  }
  Format::put_codes(codes, block);
}

// w = d * q + m with the smallest weighted squared error.
template <class Format>
void encode_affine_row(const float* in, const float* importance, std::byte* out,
                       std::int64_t n_elems) {
  constexpr int kSize = Format::kBlock, kTop = Format::kTopCode;
  const std::vector<float> weights = weights_of(importance, n_elems);
  using Block = typename Format::Block;
  each_batch<kSize * kLanes>(
      in, weights.data(), n_elems, [&](const float* x, const float* w, int n) {
        float scales[kLanes], mins[kLanes];
        run_on_lanes([&]() WEFT_LANES {
          Group<kSize, true> g;
          load_group(x, w, 60000, g);
          const Affine a = fit_affine<kTop, false>(g, {0.7f * kTop, 0.01f * kTop, 61}, 4);
          std::memcpy(scales, &a.scale, sizeof(scales));
          std::memcpy(mins, &a.min, sizeof(mins));
        });
        for (int b = 0; b < n / kSize; ++b, out += sizeof(Block)) {
          Block block{};
          block.d = scale_to_f16(scales[b]);
          block.m = scale_to_f16(-mins[b]);
          const float d = f16_to_f32(block.d), m = f16_to_f32(block.m);
          std::uint8_t codes[kSize];
          for (int i = 0; i < kSize; ++i) {
            const double code = d > 0 ? (double{x[b * kSize + i]} - m) / d : 0;
            codes[i] = static_cast<std::uint8_t>(round_to(code, 0, kTop));
          }
          Format::put_codes(codes, block);
          std::memcpy(out, &block, sizeof(Block));
        }
      });
}

// w = d * (q - kZero), q in 0 .. 2 * kZero - 1, with the smallest weighted squared error.
template <class Format, int kZero>
void encode_symmetric_row(const float* in, const float* importance, std::byte* out,
                          std::int64_t n_elems) {
  constexpr int kSize = Format::kBlock;
  const std::vector<float> weights = weights_of(importance, n_elems);
  using Block = typename Format::Block;
  each_batch<kSize * kLanes>(
      in, weights.data(), n_elems, [&](const float* x, const float* w, int n) {
        float scales[kLanes];
        run_on_lanes([&]() WEFT_LANES {
          Group<kSize, true> g;
          load_group(x, w, 65504.0f * kZero, g);
          const Floats scale =
              fit_symmetric<-kZero, kZero - 1>(g, {0.75f * kZero, 0.025f * kZero, 15}, 4);
          std::memcpy(scales, &scale, sizeof(scales));
        });
        for (int b = 0; b < n / kSize; ++b, out += sizeof(Block)) {
          Block block{};
          block.d = scale_to_f16(scales[b]);
          const float d = f16_to_f32(block.d);
          std::uint8_t codes[kSize];
          for (int i = 0; i < kSize; ++i) {
            const double code = d != 0 ? double{x[b * kSize + i]} / d : 0;
            codes[i] = static_cast<std::uint8_t>(round_to(code, -kZero, kZero - 1) + kZero);
          }
          Format::put_codes(codes, block);
          std::memcpy(out, &block, sizeof(Block));
        }
      });
}

}  // namespace weft::formats
