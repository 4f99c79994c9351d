#pragma once

#include "cpu/kernels/linear/column_tiles.inl.h"
#include "cpu/kernels/states/selective_scan.h"
#include "cpu/simd/exp.inl.h"

namespace weft::cpu {

template <class Arch>
struct SelectiveScanFunctions {
  using V = typename Simd<Arch>::V;
  using Block = SelectiveScanBlock;
  static constexpr int kLanes = Simd<Arch>::kLanes;
  static constexpr std::int64_t kTile = SelectiveScanKernels::kTile;
  static_assert(kTile % kLanes == 0);

  static bool rates(const float* a, std::int64_t stride, std::int64_t n_channels, std::int64_t n,
                    float* tile) noexcept {
    TransposedRows<Arch>::load(a, stride, n_channels, n, tile, kTile);
    // Lanes without a channel are 0.
    const std::int64_t width = (n_channels + kLanes - 1) / kLanes * kLanes;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t c = 0; c < width; c += kLanes) {
        if (xsimd::any(V::load_unaligned(tile + i * kTile + c) > V(0.0f))) return false;
      }
    }
    return true;
  }

  static void block(const Block& b) noexcept {
    if (b.tokens.from) {
      TransposedRows<Arch>::load(b.tokens.from, b.n, b.n_channels, b.n, b.state, kTile);
    } else {
      std::memset(b.state, 0, static_cast<std::size_t>(b.n * kTile) * sizeof(float));
    }
    ColumnTiles<Arch, 1>::template for_each<SelectiveScanFunctions>(b.n_channels, b);
    if (b.tokens.to)
      TransposedRows<Arch>::store(b.state, kTile, b.n_channels, b.n, b.tokens.to, b.n);
  }

  // Channels [first, first + n) of all tokens.
  template <int kVectors, bool kPart>
  static WEFT_INLINE void columns(const Block& b, std::int64_t first, std::int64_t n) {
    using P = MaybePart<Arch, kPart>;
    for (std::int64_t i = 0; i < b.tokens.n_tokens; ++i) {
      const std::int64_t t = b.tokens.tokens[i];
      const V x = P::load(b.x.at(t) + first, n), dt = P::load(b.dt.at(t) + first, n);
      // The two give the same bits if dt * a is not positive.
      const bool negative = b.a_is_negative && !xsimd::any(dt < V(0.0f));
      P::store(negative ? token<true>(b, t, first, x, dt) : token<false>(b, t, first, x, dt),
               b.y + t * b.y_stride + first, n);
    }
  }

  template <bool kNegative>
  static WEFT_INLINE V token(const Block& b, std::int64_t t, std::int64_t first, V x, V dt) {
    const float *in = b.b.at(t), *out = b.c.at(t);
    const V scaled = dt * x;
    V sum(0.0f);
    for (std::int64_t i = 0; i < b.n; ++i) {
      float* const cells = b.state + i * kTile + first;
      const V exponent = dt * V::load_unaligned(b.a + i * kTile + first);
      const V decay = kNegative ? Exp<Arch>::of_negative(exponent) : Exp<Arch>::of(exponent);
      const V cell = Simd<Arch>::fma(decay, V::load_unaligned(cells), scaled * V(in[i]));
      cell.store_unaligned(cells);
      sum = Simd<Arch>::fma(V(out[i]), cell, sum);
    }
    return sum;
  }
};

template <class Arch>
SelectiveScanKernels SelectiveScan<Arch>::run() noexcept {
  using F = SelectiveScanFunctions<Arch>;
  return {.rates = &F::rates, .block = &F::block};
}

}  // namespace weft::cpu
