#pragma once
// 32 bytes at a time: the codes of one block of weights or activations, in the order of their
// elements.

#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct Bytes;

template <>
struct Bytes<Sse2> {
  __m128i low, high;

  static WEFT_INLINE Bytes load(const std::byte* p) {
    return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)),
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16))};
  }
  // 16 bytes: low nibbles first, then high nibbles.
  static WEFT_INLINE Bytes load_nibbles(const std::byte* p) {
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return {_mm_and_si128(b, _mm_set1_epi8(15)),
            _mm_and_si128(_mm_srli_epi16(b, 4), _mm_set1_epi8(15))};
  }
  // Byte i is bit i, moved to bit `kTo`.
  template <int kTo>
  static WEFT_INLINE Bytes bits(std::uint32_t bits) {
    return {bits16<kTo>(bits), bits16<kTo>(bits >> 16)};
  }
  template <int kTo>
  static WEFT_INLINE __m128i bits16(std::uint32_t bits) {
    const __m128i each = _mm_set1_epi64x(static_cast<long long>(0x8040201008040201ull));
    const __m128i word = _mm_cvtsi32_si128(static_cast<int>(bits));
    const __m128i twice = _mm_unpacklo_epi8(word, word);
    const __m128i eight = _mm_shuffle_epi32(_mm_unpacklo_epi16(twice, twice), 0x50);
    const __m128i mask = _mm_cmpeq_epi8(_mm_and_si128(eight, each), each);
    return _mm_and_si128(mask, _mm_set1_epi8(1 << kTo));
  }
  // Bytes 8-15 and 16-23 change places.
  WEFT_INLINE Bytes swap_middle_eights() const {
    return {_mm_unpacklo_epi64(low, high), _mm_unpackhi_epi64(low, high)};
  }
  // The `kBits` bits from `kShift` on of every byte, moved to bit `kTo`.
  template <int kShift, int kBits, int kTo = 0>
  WEFT_INLINE Bytes field() const {
    return {field<kShift, kBits, kTo>(low), field<kShift, kBits, kTo>(high)};
  }
  template <int kShift, int kBits, int kTo>
  static WEFT_INLINE __m128i field(__m128i v) {
    if constexpr (kShift > kTo) v = _mm_srli_epi16(v, kShift - kTo);
    if constexpr (kShift < kTo) v = _mm_slli_epi16(v, kTo - kShift);
    return _mm_and_si128(v, _mm_set1_epi8(static_cast<char>(((1 << kBits) - 1) << kTo)));
  }
  WEFT_INLINE Bytes operator|(Bytes o) const {
    return {_mm_or_si128(low, o.low), _mm_or_si128(high, o.high)};
  }
  WEFT_INLINE Bytes minus(int n) const {
    const __m128i v = _mm_set1_epi8(static_cast<char>(n));
    return {_mm_sub_epi8(low, v), _mm_sub_epi8(high, v)};
  }

  // Signed bytes as floats: 32 / kLanes vectors.
  WEFT_INLINE void to_floats(Simd<Sse2>::V (&out)[8]) const {
    to_floats(low, out);
    to_floats(high, out + 4);
  }
  // 16 of them.
  static WEFT_INLINE void to_floats(__m128i b, Simd<Sse2>::V* out) {
    const __m128i zero = _mm_setzero_si128();
    const __m128i words[] = {_mm_unpacklo_epi8(zero, b), _mm_unpackhi_epi8(zero, b)};
    for (int i = 0; i < 2; ++i) {
      out[2 * i] = _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(zero, words[i]), 24));
      out[2 * i + 1] = _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpackhi_epi16(zero, words[i]), 24));
    }
  }
};

#ifdef __AVX2__
template <class Arch>
struct Bytes {
  __m256i v;

  static WEFT_INLINE Bytes load(const std::byte* p) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
  }
  static WEFT_INLINE Bytes load_nibbles(const std::byte* p) {
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return {_mm256_and_si256(_mm256_set_m128i(_mm_srli_epi16(b, 4), b), _mm256_set1_epi8(15))};
  }
  template <int kTo>
  static WEFT_INLINE Bytes bits(std::uint32_t bits) {
#ifdef __AVX512BW__
    return {_mm256_maskz_set1_epi8(bits, 1 << kTo)};
#else
    const __m256i each = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ull));
    const __m256i byte_of =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i eight = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(bits)), byte_of);
    const __m256i mask = _mm256_cmpeq_epi8(_mm256_and_si256(eight, each), each);
    return {_mm256_and_si256(mask, _mm256_set1_epi8(1 << kTo))};
#endif
  }
  WEFT_INLINE Bytes swap_middle_eights() const {
    return {_mm256_permute4x64_epi64(v, 0xd8)};
  }
  template <int kShift, int kBits, int kTo = 0>
  WEFT_INLINE Bytes field() const {
    __m256i moved = v;
    if constexpr (kShift > kTo) moved = _mm256_srli_epi16(v, kShift - kTo);
    if constexpr (kShift < kTo) moved = _mm256_slli_epi16(v, kTo - kShift);
    return {
        _mm256_and_si256(moved, _mm256_set1_epi8(static_cast<char>(((1 << kBits) - 1) << kTo)))};
  }
  WEFT_INLINE Bytes operator|(Bytes o) const {
    return {_mm256_or_si256(v, o.v)};
  }
  WEFT_INLINE Bytes minus(int n) const {
    return {_mm256_sub_epi8(v, _mm256_set1_epi8(static_cast<char>(n)))};
  }

  WEFT_INLINE void to_floats(typename Simd<Arch>::V (&out)[32 / Simd<Arch>::kLanes]) const {
    to_floats(_mm256_castsi256_si128(v), out);
    to_floats(_mm256_extracti128_si256(v, 1), out + 16 / Simd<Arch>::kLanes);
  }
  // 16 of them.
  static WEFT_INLINE void to_floats(__m128i b, typename Simd<Arch>::V* out) {
    if constexpr (Simd<Arch>::kLanes == 8) {
      out[0] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(b));
      out[1] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_srli_si128(b, 8)));
    } else {
#ifdef __AVX512BW__
      out[0] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(b));
#endif
    }
  }
};
#endif

}  // namespace weft::cpu
