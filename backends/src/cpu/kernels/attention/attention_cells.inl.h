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
  static constexpr bool kHasMin = false;
  static WEFT_INLINE V load(const std::byte* cell, std::int64_t i) {
    return V::load_unaligned(reinterpret_cast<const float*>(cell) + i);
  }
};
template <class Arch>
struct CellsF16 {
  static constexpr int kBytes = 2;
  static constexpr bool kHasMin = false;
  static WEFT_INLINE typename Simd<Arch>::V load(const std::byte* cell, std::int64_t i) {
    return Simd<Arch>::load_f16(cell + 2 * i);
  }
};

// Quantized types: whole blocks of 32 (ops/formats/q8_0.h and others), which begin with a scale. If
// kHasMin, a minimum follows it.
template <class Arch>
struct CellsQ8_0 {
  using V = typename Simd<Arch>::V;
  static constexpr int kBytes = 0, kBlockBytes = 34;
  static constexpr bool kHasMin = false;
  static WEFT_INLINE V load(const std::byte* cell, std::int64_t i) {
    const std::byte* block = cell + i / 32 * kBlockBytes;
    return V(Simd<Arch>::f16(block)) * Simd<Arch>::from_i8(block + 2 + i % 32);
  }
};
template <class Arch>
struct CellsQ4_0 {
  using V = typename Simd<Arch>::V;
  static constexpr int kBytes = 0, kBlockBytes = 18;
  static constexpr bool kHasMin = false;
  static WEFT_INLINE V load(const std::byte* cell, std::int64_t i) {
    const std::byte* block = cell + i / 32 * kBlockBytes;
    const V codes = Simd<Arch>::from_nibbles(block + 2 + i % 16, i % 32 >= 16);
    return V(Simd<Arch>::f16(block)) * (codes - V(8.0f));
  }
};
template <class Arch>
struct CellsQ4_1 {
  using V = typename Simd<Arch>::V;
  static constexpr int kBytes = 0, kBlockBytes = 20;
  static constexpr bool kHasMin = true;
  static WEFT_INLINE V load(const std::byte* cell, std::int64_t i) {
    const std::byte* block = cell + i / 32 * kBlockBytes;
    const V codes = Simd<Arch>::from_nibbles(block + 4 + i % 16, i % 32 >= 16);
    return V(Simd<Arch>::f16(block)) * codes + V(Simd<Arch>::f16(block + 2));
  }
};

// The 32 codes of Q5_0 and Q5_1: fifth bits, then nibbles.
template <class Arch>
struct FiveBits {
  using V = typename Simd<Arch>::V;
  static constexpr int kLanes = Simd<Arch>::kLanes;
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* p) {
    std::uint32_t high;
    std::memcpy(&high, p, sizeof(high));
    return Bytes<Arch>::load_nibbles(p + 4) | Bytes<Arch>::template bits<4>(high);
  }
  // Elements i % 32 .. i % 32 + kLanes - 1 of `codes`.
  static WEFT_INLINE V floats(Bytes<Arch> codes, std::int64_t i) {
    V all[32 / kLanes];
    codes.to_floats(all);
    V chosen = all[0];
#pragma GCC unroll 8
    for (int part = 1; part < 32 / kLanes; ++part)
      chosen = i % 32 == part * kLanes ? all[part] : chosen;
    return chosen;
  }
};
template <class Arch>
struct CellsQ5_0 {
  using V = typename Simd<Arch>::V;
  static constexpr int kBytes = 0, kBlockBytes = 22;
  static constexpr bool kHasMin = false;
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block) {
    return FiveBits<Arch>::codes(block + 2).minus(16);
  }
  static WEFT_INLINE V load(const std::byte* cell, std::int64_t i) {
    const std::byte* block = cell + i / 32 * kBlockBytes;
    return V(Simd<Arch>::f16(block)) * FiveBits<Arch>::floats(codes(block), i);
  }
};
template <class Arch>
struct CellsQ5_1 {
  using V = typename Simd<Arch>::V;
  static constexpr int kBytes = 0, kBlockBytes = 24;
  static constexpr bool kHasMin = true;
  static WEFT_INLINE V load(const std::byte* cell, std::int64_t i) {
    const std::byte* block = cell + i / 32 * kBlockBytes;
    const V codes = FiveBits<Arch>::floats(FiveBits<Arch>::codes(block + 4), i);
    return V(Simd<Arch>::f16(block)) * codes + V(Simd<Arch>::f16(block + 2));
  }
};

}  // namespace weft::cpu
