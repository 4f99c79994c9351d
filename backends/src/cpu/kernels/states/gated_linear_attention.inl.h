#pragma once

#include "cpu/kernels/linear/column_tiles.inl.h"
#include "cpu/kernels/states/gated_linear_attention.h"
#include "cpu/simd/wide.inl.h"

namespace weft::cpu {

template <class Arch>
struct GatedLinearAttentionFunctions {
  using V = typename Simd<Arch>::V;
  using Block = GatedLinearAttentionBlock;
  using Kernels = GatedLinearAttentionKernels;
  static constexpr int kLanes = Simd<Arch>::kLanes;
  // Four rows of a tile, with the other operands, fill 32 or 16 registers.
  using Tiles = ColumnTiles<Arch, kLanes == 16 ? 4 : 2>;
  static constexpr std::int64_t kTile = Tiles::kTile, kTokens = Kernels::kTokens;
  static_assert(kTile <= Kernels::kMaxTile);

  static void block(const Block& b) noexcept {
    Tiles::template for_each<GatedLinearAttentionFunctions>(b.p, b);
  }

  template <int kVectors, bool kPart>
  static WEFT_INLINE void columns(const Block& b, std::int64_t first, std::int64_t n) {
    if (b.bonus) {
      if (b.decay_by_row) return Columns<kVectors, kPart, true, true>::run(b, first, n);
      return Columns<kVectors, kPart, false, true>::run(b, first, n);
    }
    if (b.decay_by_row) return Columns<kVectors, kPart, true, false>::run(b, first, n);
    Columns<kVectors, kPart, false, false>::run(b, first, n);
  }

  // Some tokens of a block and some columns of its state.
  struct Piece {
    const std::int32_t* tokens;
    std::int64_t n_tokens;
    const float* from;  // null: zeros
    std::int64_t from_stride;
    float* to;
    std::int64_t to_stride;
    float *v, *y;  // [n_tokens, kTile]
  };

  // sum of q * u * k: the weight of a token's own v in its output.
  static WEFT_INLINE float own_weight(const float* q, const float* k, const float* u,
                                      std::int64_t n) {
    using W = Wide<Arch>;
    W sum = W::zero();
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16) sum = sum.plus(W::load(q + i), W::load(k + i) * W::load(u + i));
    if (i < n) sum = sum.plus(W::load(q + i, n - i), W::load(k + i, n - i) * W::load(u + i, n - i));
    return sum.sum();
  }

  template <int kVectors, bool kPart, bool kDecayByRow, bool kBonus>
  struct Columns {
    using P = MaybePart<Arch, kPart>;

    // Columns [first, first + n) over all tokens.
    static void run(const Block& b, std::int64_t first, std::int64_t n) {
      float* const state = b.scratch;
      Piece part{.v = state + b.n * kTile, .y = state + (b.n + kTokens) * kTile};
      part.from = b.tokens.from ? b.tokens.from + first : nullptr;
      part.from_stride = b.p;
      for (std::int64_t i = 0; i < b.tokens.n_tokens; i += kTokens) {
        const std::int64_t left = b.tokens.n_tokens - i;
        part.tokens = b.tokens.tokens + i;
        part.n_tokens = left < kTokens ? left : kTokens;
        const bool last = left <= kTokens && b.tokens.to;
        part.to = last ? b.tokens.to + first : state;
        part.to_stride = last ? b.p : kTile;
        begin(b, part, first, n);
        std::int64_t r = 0;
        for (; r + 4 <= b.n; r += 4) rows<4>(b, part, r, n);
        for (; r < b.n; ++r) rows<1>(b, part, r, n);
        end(b, part, first, n);
        part.from = part.to;
        part.from_stride = part.to_stride;
      }
    }

    // Values next to each other: rows of v may be a multiple of 4 KiB apart, which few ways of the
    // first cache can hold.
    static WEFT_INLINE void begin(const Block& b, const Piece& part, std::int64_t first,
                                  std::int64_t n) {
      for (std::int64_t i = 0; i < part.n_tokens; ++i) {
        const float* const values = b.v.at(part.tokens[i]) + first;
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          P::load(values + v * kLanes, n).store_unaligned(part.v + i * kTile + v * kLanes);
          V(0.0f).store_unaligned(part.y + i * kTile + v * kLanes);
        }
      }
    }

    // Rows [r, r + kRows) of the state over the tokens, and their contribution to y.
    template <int kRows>
    static WEFT_INLINE void rows(const Block& b, const Piece& part, std::int64_t r,
                                 std::int64_t n) {
      V cells[kRows][kVectors];
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v)
          cells[i][v] =
              part.from ? P::load(part.from + (r + i) * part.from_stride + v * kLanes, n) : V(0.0f);
      }
      for (std::int64_t i = 0; i < part.n_tokens; ++i) token<kRows>(b, part, r, i, cells);
#pragma GCC unroll 4
      for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v)
          P::store(cells[i][v], part.to + (r + i) * part.to_stride + v * kLanes, n);
      }
    }

    template <int kRows>
    static WEFT_INLINE void token(const Block& b, const Piece& part, std::int64_t r, std::int64_t i,
                                  V (&cells)[kRows][kVectors]) {
      const std::int64_t t = part.tokens[i];
      const float *q = b.q.at(t) + r, *k = b.k.at(t) + r,
                  *decay = b.decay.at(t) + (kDecayByRow ? r : 0);
      float* const y = part.y + i * kTile;
      V sums[kVectors], values[kVectors];
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) {
        sums[v] = V::load_unaligned(y + v * kLanes);
        values[v] = V::load_unaligned(part.v + i * kTile + v * kLanes);
      }
#pragma GCC unroll 4
      for (int j = 0; j < kRows; ++j) {
        const V query(q[j]), key(k[j]), d(decay[kDecayByRow ? j : 0]);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          if constexpr (kBonus) sums[v] = Simd<Arch>::fma(query, cells[j][v], sums[v]);
          cells[j][v] = Simd<Arch>::fma(d, cells[j][v], key * values[v]);
          if constexpr (!kBonus) sums[v] = Simd<Arch>::fma(query, cells[j][v], sums[v]);
        }
      }
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[v].store_unaligned(y + v * kLanes);
    }

    static WEFT_INLINE void end(const Block& b, const Piece& part, std::int64_t first,
                                std::int64_t n) {
      for (std::int64_t i = 0; i < part.n_tokens; ++i) {
        const std::int64_t t = part.tokens[i];
        V own(0.0f);
        if constexpr (kBonus) own = V(own_weight(b.q.at(t), b.k.at(t), b.bonus, b.n));
        float* const y = b.y + t * b.y_stride + first;
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
          V sum = V::load_unaligned(part.y + i * kTile + v * kLanes);
          if constexpr (kBonus)
            sum = Simd<Arch>::fma(own, V::load_unaligned(part.v + i * kTile + v * kLanes), sum);
          P::store(sum, y + v * kLanes, n);
        }
      }
    }
  };
};

template <class Arch>
GatedLinearAttentionKernels GatedLinearAttention<Arch>::run() noexcept {
  return {.block = &GatedLinearAttentionFunctions<Arch>::block};
}

}  // namespace weft::cpu
