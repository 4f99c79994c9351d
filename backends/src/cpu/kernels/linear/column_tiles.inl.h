#pragma once
// Tiles of columns, and tiles whose lanes are rows.

#include "cpu/simd/maybe_part.inl.h"
#include "cpu/simd/simd.inl.h"
#include "cpu/simd/transpose.inl.h"

namespace weft::cpu {

// Cuts `width` columns into tiles of kVectors vectors, then of one vector, then a part of one.
template <class Arch, int kVectors>
struct ColumnTiles {
  static constexpr int kLanes = Simd<Arch>::kLanes;
  static constexpr std::int64_t kTile = kVectors * kLanes;

  // Calls Body::columns<number of vectors, is a part>(args, first column, number of columns).
  template <class Body, class Args>
  static WEFT_INLINE void for_each(std::int64_t width, const Args& args) {
    std::int64_t i = 0;
    for (; i + kTile <= width; i += kTile) Body::template columns<kVectors, false>(args, i, kTile);
    for (; i + kLanes <= width; i += kLanes) Body::template columns<1, false>(args, i, kLanes);
    if (i < width) Body::template columns<1, true>(args, i, width - i);
  }
};

// Matrices whose rows become lanes: tile[c * width + r] = p[r * stride + c]. `width` is a multiple
// of kLanes that holds all rows; lanes without a row become 0.
template <class Arch>
struct TransposedRows {
  using V = typename Simd<Arch>::V;
  static constexpr int kLanes = Simd<Arch>::kLanes;

  static WEFT_INLINE std::int64_t at_most(std::int64_t n) { return n < kLanes ? n : kLanes; }

  static void load(const float* p, std::int64_t stride, std::int64_t rows, std::int64_t cols,
                   float* tile, std::int64_t width) {
    for (std::int64_t r = 0; r < rows; r += kLanes) {
      for (std::int64_t c = 0; c < cols; c += kLanes) {
        const std::int64_t n = at_most(cols - c);
        V v[kLanes];
        for (int i = 0; i < kLanes; ++i)
          v[i] = r + i < rows ? Part<Arch>::load(p + (r + i) * stride + c, n) : V(0.0f);
        Transpose<Arch>::run(v);
        for (std::int64_t i = 0; i < n; ++i) v[i].store_unaligned(tile + (c + i) * width + r);
      }
    }
  }
  static void store(const float* tile, std::int64_t width, std::int64_t rows, std::int64_t cols,
                    float* p, std::int64_t stride) {
    for (std::int64_t r = 0; r < rows; r += kLanes) {
      for (std::int64_t c = 0; c < cols; c += kLanes) {
        const std::int64_t n = at_most(cols - c);
        V v[kLanes];
        for (int i = 0; i < kLanes; ++i)
          v[i] = i < n ? V::load_unaligned(tile + (c + i) * width + r) : V(0.0f);
        Transpose<Arch>::run(v);
        for (std::int64_t i = 0; i < at_most(rows - r); ++i)
          Part<Arch>::store(v[i], p + (r + i) * stride + c, n);
      }
    }
  }
};

}  // namespace weft::cpu
