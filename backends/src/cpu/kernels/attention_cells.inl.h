#pragma once
// Converts blocks of cells to tiles of floats, with one struct per cache type: load(cell, i) gives
// the elements i .. i + kLanes - 1 of a cell's part of one group.

#include "cpu/kernels/attention.h"
#include "cpu/simd/transpose.inl.h"

namespace weft::cpu {

template <class Arch>
struct CellsF32 {
  using V = typename Simd<Arch>::V;
  static constexpr int kBytes = 4;  // per element; 0: in whole blocks, no partial vectors
  static WEFT_INLINE V load(const std::byte* cell, std::int64_t i) {
    return V::load_unaligned(reinterpret_cast<const float*>(cell) + i);
  }
};
template <class Arch>
struct CellsF16 {
  static constexpr int kBytes = 2;
  static WEFT_INLINE typename Simd<Arch>::V load(const std::byte* cell, std::int64_t i) {
    return Simd<Arch>::load_f16(cell + 2 * i);
  }
};

// Quantized types: whole blocks of 32 (ops/formats/q8_0.h, q4_0.h).
template <class Arch>
struct CellsQ8_0 {
  using V = typename Simd<Arch>::V;
  static constexpr int kBytes = 0, kBlockBytes = 34;
  static WEFT_INLINE V load(const std::byte* cell, std::int64_t i) {
    const std::byte* block = cell + i / 32 * kBlockBytes;
    return V(Simd<Arch>::f16(block)) * Simd<Arch>::from_i8(block + 2 + i % 32);
  }
};
template <class Arch>
struct CellsQ4_0 {
  using V = typename Simd<Arch>::V;
  static constexpr int kBytes = 0, kBlockBytes = 18;
  static WEFT_INLINE V load(const std::byte* cell, std::int64_t i) {
    const std::byte* block = cell + i / 32 * kBlockBytes;
    const V codes = Simd<Arch>::from_nibbles(block + 2 + i % 16, i % 32 >= 16);
    return V(Simd<Arch>::f16(block)) * (codes - V(8.0f));
  }
};

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

}  // namespace weft::cpu
