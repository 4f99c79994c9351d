#pragma once
// How the cells of a cache are read as floats, one struct per type: load(cell, i) gives the
// the elements i .. i + kLanes - 1 of a cell's part of one group.

#include "cpu/kernels/attention/attention.h"
#include "cpu/simd/simd.inl.h"

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

}  // namespace weft::cpu
