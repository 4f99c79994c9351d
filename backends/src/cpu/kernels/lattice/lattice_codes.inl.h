#pragma once
// Points of a lattice (IQ1, IQ2, IQ3) from rows in file order. A whole block of a row is unpacked
// at once: indices of points to words, signs to bits. For a sub-block only the points are left to
// load. Magnitudes and signs stay separate, as the products of one token need them.
//
// `Codec` has
//   kCoordinates         4 or 8 per point
//   grid()               the points, magnitudes up to 63
//   take(block, taken)   sets its points and either signs (a dword of 32 bits for each sub-block)
//                        or, if kHasShifts, for each point the number to subtract from its codes

#include "cpu/kernels/linear/codec.inl.h"
#include "cpu/simd/simd.inl.h"

#ifdef __AVX2__

namespace weft::cpu {

struct LatticeTaken {
  alignas(32) std::uint16_t points[64];
  alignas(32) std::uint8_t signs[32];
};

// Helpers to unpack blocks: 16 words, 32 bytes.
template <class Arch>
struct LatticeWords {
  static WEFT_INLINE __m256i bytes_at(const std::byte* p) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static WEFT_INLINE void store(std::uint16_t* out, __m256i words) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(out), words);
  }
  static WEFT_INLINE void store(std::uint8_t* out, __m256i bytes) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(out), bytes);
  }
  // Words 4 * i .. 4 * i + 3 of 8, or bytes as words, each four times.
  static WEFT_INLINE __m256i fourfold(__m128i words, int i) {
    const __m128i four = i == 0 ? words : _mm_srli_si128(words, 8);
    const __m256i at = _mm256_setr_epi64x(0x0100010001000100, 0x0302030203020302,
                                          0x0504050405040504, 0x0706070607060706);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(four), at);
  }
  // 32 words below 256 as bytes.
  static WEFT_INLINE __m256i narrow(__m256i low, __m256i high) {
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(low, high), 0xd8);
  }
  // Takes dwords with four times 7 bits. Sets the eighth bit of each byte so that the number of set
  // bits is even.
  static WEFT_INLINE __m256i even_of_7(__m256i s) {
    __m256i odd = _mm256_xor_si256(s, _mm256_slli_epi16(s, 4));
    odd = _mm256_xor_si256(odd, _mm256_slli_epi16(odd, 2));
    odd = _mm256_xor_si256(odd, _mm256_slli_epi16(odd, 1));
    return _mm256_or_si256(s, _mm256_and_si256(odd, _mm256_set1_epi8(-128)));
  }
  static WEFT_INLINE __m256i even_of_28(__m256i s) {
    const auto seven = [&](int i) __attribute__((always_inline)) {
      return _mm256_and_si256(_mm256_slli_epi32(s, i), _mm256_set1_epi32(0x7f << 8 * i));
    };
    return even_of_7(
        _mm256_or_si256(_mm256_or_si256(seven(0), seven(1)), _mm256_or_si256(seven(2), seven(3))));
  }
};

// The codes of a sub-block, from the block unpacked:
//   take(block, taken)              unpacks a block of a row
//   store(taken, g, offset, out)    the 32 codes of sub-block g, plus an offset
//   dots(rows, g, x, halves)        sums of products with 32 codes of activations, over the first
//                                   and the second half of the sub-block, for each of 16 rows
template <class Arch, class C>
struct LatticeCodes {
  using S = Sixteen<Arch>;
  using Words = typename S::Words;
  using Taken = LatticeTaken;

  static WEFT_INLINE void take(const std::byte* block, Taken& taken) { C::take(block, taken); }
  static WEFT_INLINE __m256i points(const LatticeTaken& taken, int g) {
    if constexpr (C::kCoordinates == 8) {
      const std::uint16_t* n = taken.points + 4 * g;
      return Lookup<Arch>::eights(C::eight(C::grid(), n[0]), C::eight(C::grid(), n[1]),
                                  C::eight(C::grid(), n[2]), C::eight(C::grid(), n[3]))
          .v;
    } else {
      std::int32_t p[8];
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) p[i] = C::four(C::grid(), taken.points[8 * g + i]);
      return Lookup<Arch>::fours(p).v;
    }
  }
  // A byte of signs for each point.
  static WEFT_INLINE __m256i bytes_of_signs(const LatticeTaken& taken, int g) {
    const __m256i byte_of =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    std::int32_t dword = 0;
    std::memcpy(&dword, taken.signs + 4 * g, sizeof(dword));
    return _mm256_shuffle_epi8(_mm256_set1_epi32(dword), byte_of);
  }
  // Codes are magnitudes, negative where `minus` is set.
  struct Signed {
    __m256i magnitude, minus;
  };
  static WEFT_INLINE Signed separate(const LatticeTaken& taken, int g) {
    const __m256i bits = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ull));
    const __m256i minus = _mm256_cmpeq_epi8(_mm256_and_si256(bytes_of_signs(taken, g), bits), bits);
    return {points(taken, g), minus};
  }
  static WEFT_INLINE __m256i codes(const LatticeTaken& taken, int g) {
    if constexpr (C::kHasShifts) {
      return _mm256_sub_epi8(points(taken, g), bytes_of_signs(taken, g));
    } else {
      const Signed s = separate(taken, g);
      return _mm256_sub_epi8(_mm256_xor_si256(s.magnitude, s.minus), s.minus);
    }
  }
  static WEFT_INLINE void store(const LatticeTaken& taken, int g, int offset, std::byte* out) {
    const __m256i raised =
        _mm256_add_epi8(codes(taken, g), _mm256_set1_epi8(static_cast<char>(offset)));
    _mm256_store_si256(reinterpret_cast<__m256i*>(out), raised);
  }
  // The products with 32 activations, neighbours added: at most 2 * 63 * 127.
  static WEFT_INLINE __m256i pair_products(const LatticeTaken& taken, int g, __m256i x) {
    if constexpr (C::kHasShifts) {
      const __m256i all = codes(taken, g);
      return _mm256_maddubs_epi16(_mm256_abs_epi8(all), _mm256_sign_epi8(x, all));
    } else {
      const Signed s = separate(taken, g);
      const __m256i sign = _mm256_or_si256(s.minus, _mm256_set1_epi8(1));
      return _mm256_maddubs_epi16(s.magnitude, _mm256_sign_epi8(x, sign));
    }
  }
  // The sums over both halves of a sub-block, of eight rows.
  static WEFT_INLINE void add_up(const LatticeTaken* rows, int g, __m256i x, __m256i (&halves)[2]) {
    const __m256i one = _mm256_set1_epi16(1);
    __m256i twos[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const __m256i fours =
          _mm256_hadd_epi16(pair_products(rows[2 * i], g, x), pair_products(rows[2 * i + 1], g, x));
      twos[i] = _mm256_madd_epi16(fours, one);
    }
    const __m256i low = _mm256_hadd_epi32(twos[0], twos[1]),
                  high = _mm256_hadd_epi32(twos[2], twos[3]);
    halves[0] = _mm256_permute2x128_si256(low, high, 0x20);
    halves[1] = _mm256_permute2x128_si256(low, high, 0x31);
  }
  static WEFT_INLINE void dots(const LatticeTaken (&rows)[16], int g, const std::byte* x,
                               Words (&halves)[2]) {
    const __m256i codes = Bytes<Arch>::load(x).v;
    __m256i lower[2], upper[2];
    add_up(rows, g, codes, lower);
    add_up(rows + 8, g, codes, upper);
    halves[0] = S::joined(lower[0], upper[0]);
    halves[1] = S::joined(lower[1], upper[1]);
  }
};

}  // namespace weft::cpu

#endif
