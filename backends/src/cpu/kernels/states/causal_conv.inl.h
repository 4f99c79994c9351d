#pragma once

#include "cpu/kernels/linear/column_tiles.inl.h"
#include "cpu/kernels/states/causal_conv.h"
#include "cpu/simd/silu.inl.h"

namespace weft::cpu {

template <class Arch>
struct CausalConvFunctions {
  using V = typename Simd<Arch>::V;
  using Block = CausalConvBlock;
  static constexpr int kLanes = Simd<Arch>::kLanes;
  static constexpr std::int64_t kTile = CausalConvKernels::kTile;

  static void weights(const float* w, std::int64_t stride, std::int64_t n_channels,
                      std::int64_t taps, float* tile) noexcept {
    TransposedRows<Arch>::load(w, stride, n_channels, taps, tile, kTile);
  }

  static void block(const Block& b) noexcept {
    const std::int64_t kept = b.taps - 1;
    if (b.tokens.from) {
      TransposedRows<Arch>::load(b.tokens.from, kept, b.n_channels, kept, b.history, kTile);
    } else {
      std::memset(b.history, 0, static_cast<std::size_t>(kept * kTile) * sizeof(float));
    }
    ColumnTiles<Arch, 4>::template for_each<CausalConvFunctions>(b.n_channels, b);
    if (!b.tokens.to) return;
    // The last inputs, oldest first. Row i is replaced by a later one, so this works in place.
    for (std::int64_t i = 0; i < kept; ++i) {
      Part<Arch>::map(
          b.n_channels, input(b, b.tokens.n_tokens - kept + i), b.history + i * kTile,
          [](V v) __attribute__((always_inline)) { return v; });
    }
    TransposedRows<Arch>::store(b.history, kTile, b.n_channels, kept, b.tokens.to, kept);
  }

  // Channels [first, first + n) of all tokens.
  template <int kVectors, bool kPart>
  static WEFT_INLINE void columns(const Block& b, std::int64_t first, std::int64_t n) {
    using P = MaybePart<Arch, kPart>;
    for (std::int64_t i = 0; i < b.tokens.n_tokens; ++i) {
      V sums[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        sums[v] = b.bias ? P::load(b.bias + first + v * kLanes, n) : V(0.0f);
      for (std::int64_t j = 0; j < b.taps; ++j) {
        const float* const x = input(b, i - (b.taps - 1) + j) + first;
        const float* const w = b.weights + j * kTile + first;
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v)
          sums[v] = Simd<Arch>::fma(V::load_unaligned(w + v * kLanes), P::load(x + v * kLanes, n),
                                    sums[v]);
      }
      float* const y = b.y + b.tokens.tokens[i] * b.y_stride + first;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v)
        P::store(b.silu ? Silu<Arch>::of(sums[v]) : sums[v], y + v * kLanes, n);
    }
  }

  // The input of token i of the block, or of the i-th before it.
  static WEFT_INLINE const float* input(const Block& b, std::int64_t i) {
    return i < 0 ? b.history + (b.taps - 1 + i) * kTile : b.x.at(b.tokens.tokens[i]);
  }
};

template <class Arch>
CausalConvKernels CausalConv<Arch>::run() noexcept {
  using F = CausalConvFunctions<Arch>;
  return {.weights = &F::weights, .block = &F::block};
}

}  // namespace weft::cpu
