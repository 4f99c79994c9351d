#pragma once

#include "cpu/kernels/linear/column_tiles.inl.h"
#include "cpu/kernels/states/delta_rule.h"

namespace weft::cpu {

template <class Arch>
struct DeltaRuleFunctions {
  using V = typename Simd<Arch>::V;
  using Block = DeltaRuleBlock;
  using Tiles = ColumnTiles<Arch, 2>;
  static constexpr int kLanes = Simd<Arch>::kLanes;
  static constexpr std::int64_t kTile = Tiles::kTile;
  static_assert(kTile <= DeltaRuleKernels::kMaxTile);

  static void block(const Block& b) noexcept {
    Tiles::template for_each<DeltaRuleFunctions>(b.p, b);
  }

  template <int kVectors, bool kPart>
  static WEFT_INLINE void columns(const Block& b, std::int64_t first, std::int64_t n) {
    if (b.decay_by_row) {
      Columns<kVectors, kPart, true>::run(b, first, n);
    } else {
      Columns<kVectors, kPart, false>::run(b, first, n);
    }
  }

  // Some columns of the state.
  struct Cells {
    float* data;
    std::int64_t stride;
  };
  struct ConstCells {
    const float* data;
    std::int64_t stride;
  };

  template <int kVectors, bool kPart, bool kDecayByRow>
  struct Columns {
    using P = MaybePart<Arch, kPart>;

    // Columns [first, first + n) over all tokens.
    static void run(const Block& b, std::int64_t first, std::int64_t n) {
      ConstCells s{b.tile, kTile};
      if (b.tokens.from) {
        s = {b.tokens.from + first, b.p};
      } else {
        std::memset(b.tile, 0, static_cast<std::size_t>(b.n * kTile) * sizeof(float));
      }
      V removed[kVectors];
      remove(b, s, n, removed);
      for (std::int64_t i = 0; i + 1 < b.tokens.n_tokens; ++i) {
        step<true>(b, i, first, n, s, {b.tile, kTile}, removed);
        s = {b.tile, kTile};
      }
      const Cells last = b.tokens.to ? Cells{b.tokens.to + first, b.p} : Cells{b.tile, kTile};
      step<false>(b, b.tokens.n_tokens - 1, first, n, s, last, removed);
    }

    // remove^T S of the first token.
    static WEFT_INLINE void remove(const Block& b, ConstCells s, std::int64_t n,
                                   V (&removed)[kVectors]) {
      const float* const factors = b.remove.at(b.tokens.tokens[0]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) removed[v] = V(0.0f);
      for (std::int64_t i = 0; i < b.n; ++i) {
        const V factor(factors[i]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v)
          removed[v] =
              Simd<Arch>::fma(factor, P::load(s.data + i * s.stride + v * kLanes, n), removed[v]);
      }
    }

    // Token i from state `s` to state `to`, which may be the same. `removed` is remove^T S, and
    // becomes that of the next token if kNext.
    template <bool kNext>
    static WEFT_INLINE void step(const Block& b, std::int64_t i, std::int64_t first, std::int64_t n,
                                 ConstCells s, Cells to, V (&removed)[kVectors]) {
      const std::int64_t t = b.tokens.tokens[i];
      const float *q = b.q.at(t), *k = b.k.at(t), *decay = b.decay.at(t), *write = b.write.at(t);
      const float* const next = kNext ? b.remove.at(b.tokens.tokens[i + 1]) : nullptr;
      V values[kVectors], sums[kVectors], next_removed[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        values[v] = P::load(b.v.at(t) + first + v * kLanes, n);
        sums[v] = next_removed[v] = V(0.0f);
      }
      for (std::int64_t r = 0; r < b.n; ++r) {
        // Before the stores, so that each is loaded once.
        const V d(decay[kDecayByRow ? r : 0]), w(write[r]), key(k[r]), query(q[r]);
        const V back(kNext ? next[r] : 0.0f);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          V cell = P::load(s.data + r * s.stride + v * kLanes, n) * d;
          cell = Simd<Arch>::fma(w, removed[v], cell);
          cell = Simd<Arch>::fma(key, values[v], cell);
          P::store(cell, to.data + r * to.stride + v * kLanes, n);
          sums[v] = Simd<Arch>::fma(query, cell, sums[v]);
          if constexpr (kNext) next_removed[v] = Simd<Arch>::fma(back, cell, next_removed[v]);
        }
      }
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        P::store(sums[v], b.y + t * b.y_stride + first + v * kLanes, n);
        removed[v] = next_removed[v];
      }
    }
  };
};

template <class Arch>
DeltaRuleKernels DeltaRule<Arch>::run() noexcept {
  return {.block = &DeltaRuleFunctions<Arch>::block};
}

}  // namespace weft::cpu
