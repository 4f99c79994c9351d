#pragma once
// Traits of AVX-512.

#ifdef __AVX512BW__

#include <immintrin.h>
#include <xsimd/xsimd.hpp>

namespace weft::cpu {

template <>
struct Simd<Avx512> {
  using V = xsimd::batch<float, xsimd::avx512bw>;
  static constexpr int kLanes = 16;

  // xsimd 8 multiplies and adds here.
  static WEFT_INLINE V fma(V a, V b, V c) { return V(_mm512_fmadd_ps(a, b, c)); }
  static WEFT_INLINE V low_bits_to_exponent(V v) {
    return V(_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(v), 23)));
  }
  static WEFT_INLINE V load_f16(const void* p) {
    return V(_mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(p))));
  }
  static WEFT_INLINE void store_f16(V v, void* p) {
    _mm256_storeu_si256(static_cast<__m256i*>(p), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  static WEFT_INLINE V load_bf16(const void* p) {
    return V(_mm512_castsi512_ps(_mm512_slli_epi32(
        _mm512_cvtepu16_epi32(_mm256_loadu_si256(static_cast<const __m256i*>(p))), 16)));
  }
  static WEFT_INLINE float f16(const void* p) { return Simd<Avx2>::f16(p); }
  static WEFT_INLINE float root(float x) { return Simd<Sse2>::root(x); }
  static WEFT_INLINE float sum(__m256 v) { return Simd<Avx2>::sum(v); }
  static WEFT_INLINE float sum(__m512 v) {
    return Simd<Avx2>::sum(_mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1)));
  }
  static WEFT_INLINE float max(__m512 v) {
    return Simd<Avx2>::max(_mm256_max_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1)));
  }
  static WEFT_INLINE V halves(float low, float high) {
    return V(_mm512_insertf32x8(_mm512_set1_ps(low), _mm256_set1_ps(high), 1));
  }
  static WEFT_INLINE V swap_pairs(V v) { return V(_mm512_permute_ps(v, 0xb1)); }
  static WEFT_INLINE V firsts(V v) { return V(_mm512_moveldup_ps(v)); }
  static WEFT_INLINE V seconds(V v) { return V(_mm512_movehdup_ps(v)); }
  static WEFT_INLINE V firsts(V a, V b) {
    const __m512i at = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    return V(_mm512_permutex2var_ps(a, at, b));
  }
  static WEFT_INLINE V seconds(V a, V b) {
    const __m512i at = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
    return V(_mm512_permutex2var_ps(a, at, b));
  }
  static WEFT_INLINE V negate_firsts(V v) {
    return V(_mm512_xor_ps(v, _mm512_castsi512_ps(_mm512_set1_epi64(0x80000000))));
  }
  static WEFT_INLINE __mmask16 first(std::int64_t n) {
    return static_cast<__mmask16>((1u << n) - 1);
  }
  static WEFT_INLINE V load_part(const float* p, std::int64_t n) {
    return V(_mm512_maskz_loadu_ps(first(n), p));
  }
  static WEFT_INLINE void store_part(V v, float* p, std::int64_t n) {
    _mm512_mask_storeu_ps(p, first(n), v);
  }
  static WEFT_INLINE void store_truncated(V v, std::int32_t* p) {
    _mm512_storeu_si512(p, _mm512_cvttps_epi32(v));
  }
  static WEFT_INLINE V from_i8(const std::byte* p) {
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    return V(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(b)));
  }
  static WEFT_INLINE V from_nibbles(const std::byte* p, bool high) {
    const __m512i wide = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    const __m512i moved = high ? _mm512_srli_epi32(wide, 4) : wide;
    return V(_mm512_cvtepi32_ps(_mm512_and_si512(moved, _mm512_set1_epi32(15))));
  }
};

template <>
struct Quarters<Avx512> {
  using R = __m512;
  static WEFT_INLINE R low(R a, R b) { return _mm512_unpacklo_ps(a, b); }
  static WEFT_INLINE R high(R a, R b) { return _mm512_unpackhi_ps(a, b); }
  static WEFT_INLINE R low_pairs(R a, R b) { return _mm512_shuffle_ps(a, b, 0x44); }
  static WEFT_INLINE R high_pairs(R a, R b) { return _mm512_shuffle_ps(a, b, 0xee); }
};

}  // namespace weft::cpu

#endif
