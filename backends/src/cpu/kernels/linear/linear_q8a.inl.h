#pragma once
// Q8A activations times block-quantized weights: tiles of up to 4 tokens x 4 weight rows with all
// sums in registers. A tile of any size adds up each of its elements in the same order, block by
// block. For SSE2; other sets multiply as linear_panels_q8a.inl.h does.

#include "cpu/kernels/linear/codec.inl.h"
#include "cpu/simd/simd.inl.h"

#ifndef WEFT_SIXTEEN

namespace weft::cpu {

template <class Arch, class C>
struct LinearQ8A {
  using D = Dot<Arch, C>;
  static constexpr int kSubs = C::kBlockElems / 32;
  static constexpr int kTile = 4;
  static constexpr TokenTiles kTokenTiles{.tile = kTile};
  static constexpr std::int64_t kPanel =
      32;  // weight rows that stay in cache while all tokens pass

  static WEFT_INLINE void run(const LinearArgs& a) {
    for (std::int64_t c0 = a.col0; c0 < a.col1; c0 += kPanel) {
      const std::int64_t c1 = c0 + kPanel < a.col1 ? c0 + kPanel : a.col1;
      std::int64_t t = a.row0;
      for (; t + kTile <= a.row1; t += kTile) columns<kTile>(a, t, c0, c1);
      for (; t < a.row1; ++t) columns<1>(a, t, c0, c1);
    }
  }

  template <int T>
  static WEFT_INLINE void columns(const LinearArgs& a, std::int64_t t, std::int64_t c0,
                                  std::int64_t c1) {
    std::int64_t c = c0;
    for (; c + kTile <= c1; c += kTile) tile<kTile, T>(a, t, c);
    for (; c < c1; ++c) tile<1, T>(a, t, c);
  }

  // Rows t .. t + T - 1, columns c .. c + R - 1.
  template <int R, int T>
  static __attribute__((noinline)) void tile(const LinearArgs& a, std::int64_t t, std::int64_t c) {
    typename D::Lanes lanes[T][R];
#pragma GCC unroll 4
    for (int j = 0; j < T; ++j) {
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) lanes[j][r] = D::zero();
    }
    const std::byte* x = a.x + t * a.x_stride;
    const std::byte* w = a.w + c * a.w_stride;
    Ahead<Arch> ahead(a, t, c, R);
    for (std::int64_t k = 0; k < a.k; k += C::kBlockElems) {
      ahead.template next<R * C::kBlockBytes>();
      add_block<R, T>(w, a.w_stride, x, a.x_stride, lanes);
      w += C::kBlockBytes;
      x += kSubs * ActivationBlock::kBytes;
    }
    for (int j = 0; j < T; ++j) {
      for (int r = 0; r < R; ++r)
        Epilogue<Arch>::store(a, t + j, c + r, Simd<Arch>::sum(lanes[j][r]));
    }
  }

  // One block of each weight row against the same elements of each token.
  template <int R, int T>
  static WEFT_INLINE void add_block(const std::byte* w, std::int64_t w_stride, const std::byte* x,
                                    std::int64_t x_stride, typename D::Lanes (&lanes)[T][R]) {
    typename C::Header header[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) header[r] = C::header(w + r * w_stride);
    for (int g = 0; g < C::kGroups; ++g) {
      Unroll<Arch, C::kParts>::each([&]<int kPart>() __attribute__((always_inline)) {
        const int sub = g * C::kParts + kPart;
        typename D::Activations acts[T];
#pragma GCC unroll 4
        for (int j = 0; j < T; ++j)
          acts[j] = D::activations(x + j * x_stride + sub * ActivationBlock::kBytes);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
          const auto codes = C::template codes<kPart>(w + r * w_stride, g);
          const auto weights =
              D::weights(codes, header[r].scales + (C::kTwoScales ? 2 * sub : sub));
#pragma GCC unroll 4
          for (int j = 0; j < T; ++j) lanes[j][r] = D::add(lanes[j][r], weights, acts[j]);
        }
      });
    }
    if constexpr (C::kHasMins) subtract_mins<R, T>(header, x, x_stride, lanes);
  }

  // sum_k (scale * code - min) * x: the minima times the sums of the activations, eight at once.
  template <int R, int T>
  static WEFT_INLINE void subtract_mins(const typename C::Header (&header)[R], const std::byte* x,
                                        std::int64_t x_stride, typename D::Lanes (&lanes)[T][R]) {
    constexpr int kMins = C::kTwoScales ? 2 * kSubs : kSubs;
    constexpr int kEights = (kMins + 7) / 8;
#pragma GCC unroll 4
    for (int j = 0; j < T; ++j) {
      float sums[8 * kEights] = {};
#pragma GCC unroll 8
      for (int s = 0; s < kSubs; ++s)
        sums_of(x + j * x_stride + s * ActivationBlock::kBytes, sums + s * (kMins / kSubs));
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        for (int i = 0; i < 8 * kEights; i += 8)
          lanes[j][r] = D::subtract(lanes[j][r], header[r].mins() + i, sums + i);
      }
    }
  }
  // The sums of the elements that share a minimum: all of a block, or each half. Half a block
  // starts at -128 times the sum of its codes.
  static WEFT_INLINE void sums_of(const std::byte* block, float* sums) {
    using A = ActivationBlock;
    if constexpr (C::kTwoScales) {
      const float d = *reinterpret_cast<const float*>(block) * -0x1p-7f;
      sums[0] =
          d * static_cast<float>(*reinterpret_cast<const std::int32_t*>(block + A::kStartLow));
      sums[1] =
          d * static_cast<float>(*reinterpret_cast<const std::int32_t*>(block + A::kStartHigh));
    } else {
      sums[0] = *reinterpret_cast<const float*>(block + A::kScaledSum);
    }
  }
};

}  // namespace weft::cpu

#endif
