#pragma once
// The traits that a file simd/<instruction set>.inl.h defines for its instruction set. A set that
// extends another one and has no traits uses those of the other one: only its compiler flags, or
// leaves in the kernels, change a kernel's code. Included only by kernel bodies, which are compiled
// with the flags of one instruction set. No function here may leave a symbol without the tag in its
// name: no std containers, no std algorithms, only members of tagged templates.
//
// Kernels include the generated cpu/simd/simd.inl.h: this file, then the traits in the order of
// cmake/instruction_sets.cmake. So a traits file may use this one and the traits of the sets that
// its own extends, and includes neither.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cpu/isa_tags.h"

#define WEFT_INLINE inline __attribute__((always_inline))

// Sets that multiply panels (simd/sixteen.inl.h): all but SSE2.
#if defined(__AVX2__) || defined(__ARM_NEON)
#define WEFT_SIXTEEN
#endif

namespace weft::cpu {

// Beyond xsimd: a vector type V of kLanes floats, loads of half floats, sums in a fixed order,
// parts of vectors.
template <class Arch>
struct Simd : Simd<typename Arch::Base> {};

// Partial vectors, for the ends of rows. Computations on them give the same bits as on whole
// vectors.
template <class Arch>
struct Part {
  using V = typename Simd<Arch>::V;
  static constexpr int kLanes = Simd<Arch>::kLanes;

  // n <= kLanes floats, followed by zeros.
  static WEFT_INLINE V load(const float* p, std::int64_t n) { return Simd<Arch>::load_part(p, n); }
  static WEFT_INLINE void store(V v, float* p, std::int64_t n) { Simd<Arch>::store_part(v, p, n); }
  // f(V of the elements from i on) -> V, for all i.
  template <class F>
  static WEFT_INLINE void map(std::int64_t n, const float* x, float* y, F f) {
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) f(V::load_unaligned(x + i)).store_unaligned(y + i);
    if (i < n) store(f(load(x + i, n - i)), y + i, n - i);
  }
  template <class F>
  static WEFT_INLINE void map2(std::int64_t n, const float* a, const float* b, float* y, F f) {
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      f(V::load_unaligned(a + i), V::load_unaligned(b + i)).store_unaligned(y + i);
    if (i < n) store(f(load(a + i, n - i), load(b + i, n - i)), y + i, n - i);
  }
};

// 32 bytes at a time: the codes of one block of weights or activations, in the order of their
// elements.
template <class Arch>
struct Bytes;

// 32 codes from tables: nibbles that stand for 16 values, points of a grid with 8 or 4 coordinates
// of one byte, and signs for them, one bit each (ops/formats/iq_grids.h).
template <class Arch>
struct Lookup;

// Eight of the 16 values of a look-up, plus an offset, as a word.
template <const auto& kValues>
struct TableWord {
  static constexpr std::uint64_t from(std::size_t first, int offset) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const auto byte = static_cast<std::uint8_t>(kValues[first + i] + offset);
      word |= std::uint64_t{byte} << 8 * i;
    }
    return word;
  }
};

// The numbers of E2M1, doubled (ops/formats/mxfp4.h).
inline constexpr std::int8_t kE2M1Doubled[] = {0, 1,  2,  3,  4,  6,  8,  12,
                                               0, -1, -2, -3, -4, -6, -8, -12};

// Two registers within every 128 bits, for transposition.
template <class Arch>
struct Quarters : Quarters<typename Arch::Base> {};

// The 32 codes of a block of activations in registers: their largest magnitude, rounding and
// storing.
template <class Arch>
struct QuantizedCodes;

// Vectors with one element for each row of a panel (simd/sixteen.inl.h).
template <class Arch>
struct Sixteen : Sixteen<typename Arch::Base> {};

// The offsets of members in a block of Q8A (ops/formats/q8a.h).
struct ActivationBlock {
  static constexpr int kElements = 32, kBytes = 52;
  static constexpr int kScale = 0, kScaledSum = 4, kStart = 8, kStartLow = 12, kStartHigh = 16;
  static constexpr int kCodes = 20;
};

template <class Arch>
struct Signs {
  // Four times 7 bits, lowest first, as 32 bits: the eighth bit of each byte makes the number of
  // set bits even.
  static WEFT_INLINE std::uint32_t even(std::uint32_t bits) {
    const std::uint32_t s = (bits & 0x7fu) | (bits << 1 & 0x7f00u) | (bits << 2 & 0x7f0000u) |
                            (bits << 3 & 0x7f000000u);
    std::uint32_t odd = s ^ s >> 4;
    odd ^= odd >> 2;
    odd ^= odd >> 1;
    return s | (odd & 0x01010101u) << 7;
  }
};

}  // namespace weft::cpu
