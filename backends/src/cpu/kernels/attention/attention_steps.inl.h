#pragma once
// Operations on a block of cells, for any type of cache (attention_cells.inl.h): tiles of floats,
// and steps that read the cells in place, scores and sums of values of one block of rows. All rows
// of the block go together, so an element is read and converted once.

#include "cpu/kernels/attention/attention_quads.inl.h"
#include "cpu/kernels/attention/attention_rows.inl.h"
#include "cpu/simd/transpose.inl.h"

namespace weft::cpu {

// A block of cells as a tile of floats, once for all rows.
template <class Arch, class Cells>
struct CellTiles {
  using V = typename Simd<Arch>::V;
  static constexpr int kLanes = Simd<Arch>::kLanes;
  static constexpr std::int64_t kCells = AttentionKernels::kCells;

  // Elements from i on: `rest` of them, followed by zeros.
  static WEFT_INLINE V load(const std::byte* cell, std::int64_t i, std::int64_t rest) {
    if constexpr (Cells::kBytes > 0) {
      if (rest < kLanes) {
        alignas(64) std::byte part[kLanes * Cells::kBytes] = {};
        std::memcpy(part, cell + i * Cells::kBytes, static_cast<std::size_t>(rest * Cells::kBytes));
        return Cells::load(part, 0);
      }
    }
    return Cells::load(cell, i);
  }

  // r[c] = element i + c of the cells s .. s + kLanes - 1, zeros after n and e.
  static WEFT_INLINE void square(const std::byte* k, std::int64_t cell_bytes, std::int64_t n,
                                 std::int64_t e, std::int64_t s, std::int64_t i, V (&r)[kLanes]) {
    const std::byte* cell = k + s * cell_bytes;
    if (n - s >= kLanes && e - i >= kLanes) {
#pragma GCC unroll 16
      for (int c = 0; c < kLanes; ++c) r[c] = Cells::load(cell + c * cell_bytes, i);
    } else {
      for (int c = 0; c < kLanes; ++c)
        r[c] = c < n - s ? load(cell + c * cell_bytes, i, e - i) : V(0.0f);
    }
    Transpose<Arch>::run(r);
  }

  static void keys(const std::byte* k, std::int64_t cell_bytes, std::int64_t n, std::int64_t e,
                   float* tile) noexcept {
    for (std::int64_t s = 0; s < n; s += kLanes) {
      for (std::int64_t i = 0; i < e; i += kLanes) {
        V r[kLanes];
        square(k, cell_bytes, n, e, s, i, r);
#pragma GCC unroll 16
        for (int c = 0; c < kLanes; ++c) r[c].store_aligned(tile + (i + c) * kCells + s);
      }
    }
  }

  static void values(const std::byte* v, std::int64_t cell_bytes, std::int64_t n, std::int64_t e,
                     std::int64_t padded, float* tile) noexcept {
    for (std::int64_t s = 0; s < n; ++s) {
      for (std::int64_t i = 0; i < padded; i += kLanes)
        (i < e ? load(v + s * cell_bytes, i, e - i) : V(0.0f)).store_aligned(tile + s * padded + i);
    }
  }
};

template <class Arch, class Cells>
struct AttentionSteps {
  using V = typename Simd<Arch>::V;
  using Rows = AttentionRows<Arch>;
  using Tiles = CellTiles<Arch, Cells>;
  using Quads = KeyQuads<Arch, Cells>;
  static constexpr int kLanes = Simd<Arch>::kLanes;
  static constexpr int kCells = AttentionKernels::kCells;

  static void scores(const AttentionScores& a, int n_rows, AttentionAhead& ahead) noexcept {
    scores_of<Rows::kMaxRows>(a, n_rows, ahead);
  }
  template <int R>
  static WEFT_INLINE void scores_of(const AttentionScores& a, int n_rows, AttentionAhead& ahead) {
    if (n_rows == R) return scores_of<R>(a, ahead);
    if constexpr (R > 1) scores_of<R - 1>(a, n_rows, ahead);
  }

  // Keys become vectors of one element of kLanes cells, in registers.
  template <int R>
  static __attribute__((noinline)) void scores_of(const AttentionScores& a, AttentionAhead& ahead) {
    for (std::int64_t s = 0; s < a.n; s += kLanes) {
      V sums[R];
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) sums[r] = V(0.0f);
      const float* q = a.q;
      std::int64_t i = 0;
      if constexpr (Quads::kElements > 0) {
        if (a.n - s >= kLanes) i = add_quads<R>(a, s, sums, ahead), q += i * R;
      }
      for (; i < a.e; i += kLanes, q += R * kLanes) {
        ahead.fetch();
        V keys[kLanes];
        Tiles::square(a.k, a.cell, a.n, a.e, s, i, keys);
        if (a.e - i >= kLanes) {
#pragma GCC unroll 16
          for (int c = 0; c < kLanes; ++c) add<R>(keys[c], q + c * R, sums);
        } else {
          alignas(64) float part[kLanes * kLanes];
#pragma GCC unroll 16
          for (int c = 0; c < kLanes; ++c) keys[c].store_aligned(part + c * kLanes);
          for (int c = 0; c < a.e - i; ++c)
            add<R>(V::load_aligned(part + c * kLanes), q + c * R, sums);
        }
      }
      const V scale(a.scale);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) (scale * sums[r]).store_aligned(a.p + r * kCells + s);
    }
  }

  // Only the whole ones; returns where they end.
  template <int R>
  static WEFT_INLINE std::int64_t add_quads(const AttentionScores& a, std::int64_t s, V (&sums)[R],
                                            AttentionAhead& ahead) {
    const std::byte* cell = a.k + s * a.cell;
    const float* q = a.q;
    V scales(1.0f);
    std::int64_t i = 0;
    for (; i + kLanes <= a.e; i += kLanes) {
      ahead.fetch();
      if constexpr (Cells::kBytes == 0) {
        if (i % 32 == 0) scales = Quads::scales(cell, a.cell, i);
      }
#pragma GCC unroll 4
      for (int j = 0; j < kLanes; j += Quads::kElements, q += R * Quads::kElements) {
        V keys[Quads::kElements];
        Quads::load(cell, a.cell, i + j, keys);
#pragma GCC unroll 4
        for (int c = 0; c < Quads::kElements; ++c)
          add<R>(Cells::kBytes == 0 ? scales * keys[c] : keys[c], q + c * R, sums);
      }
    }
    return i;
  }

  template <int R>
  static WEFT_INLINE void add(V keys, const float* q, V (&sums)[R]) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) sums[r] = Simd<Arch>::fma(V(q[r]), keys, sums[r]);
  }

  static void values(const AttentionValues& a, int n_rows, AttentionAhead& ahead) noexcept {
    values_of<Rows::kMaxRows>(a, n_rows, ahead);
  }
  template <int R>
  static WEFT_INLINE void values_of(const AttentionValues& a, int n_rows, AttentionAhead& ahead) {
    if (n_rows == R) return values_of<R>(a, ahead);
    if constexpr (R > 1) values_of<R - 1>(a, n_rows, ahead);
  }

  template <int R>
  static __attribute__((noinline)) void values_of(const AttentionValues& a, AttentionAhead& ahead) {
    constexpr int W = Rows::columns(R);
    std::int64_t c = 0;
    for (; c + W * kLanes <= a.width; c += W * kLanes) add_values<R, W>(a, c, ahead);
    for (; c < a.width; c += kLanes) add_values<R, 1>(a, c, ahead);
  }

  template <int R, int W>
  static WEFT_INLINE void add_values(const AttentionValues& a, std::int64_t c,
                                     AttentionAhead& ahead) {
    float* const y = a.y + c;
    V sums[R][W];
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int w = 0; w < W; ++w)
        sums[r][w] = V::load_aligned(y + r * a.width + w * kLanes) * V(a.rescale[r]);
    }
    const std::byte* v = a.v + a.begin * a.cell;
    for (std::int64_t s = a.begin; s < a.end;) {
      ahead.fetch();
      const std::int64_t stop = s + Rows::kPerFetch < a.end ? s + Rows::kPerFetch : a.end;
      for (; s < stop; ++s, v += a.cell) {
        V values[W];
#pragma GCC unroll 4
        for (int w = 0; w < W; ++w) values[w] = Cells::load(v, c + w * kLanes);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
          const V weight(a.p[r * kCells + s]);
#pragma GCC unroll 4
          for (int w = 0; w < W; ++w) sums[r][w] = Simd<Arch>::fma(weight, values[w], sums[r][w]);
        }
      }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int w = 0; w < W; ++w) sums[r][w].store_aligned(y + r * a.width + w * kLanes);
    }
  }

  static constexpr AttentionCells kKernels{
      .key_tile = &Tiles::keys, .value_tile = &Tiles::values, .scores = &scores, .values = &values};
};

}  // namespace weft::cpu
