#pragma once
// What kernels need beyond xsimd: a vector type per instruction set, loads of half floats, sums in
// a fixed order, parts of vectors. Included only by kernel bodies, which are compiled with the
// flags of one instruction set: no function here may leave a symbol that lacks the tag in its name
// (no std containers, no std algorithms, nothing that is not a member of a tagged template).

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <immintrin.h>
#include <xsimd/xsimd.hpp>

#include "cpu/isa.h"

#define WEFT_INLINE inline __attribute__((always_inline))

namespace weft::cpu {

template <class Arch>
struct Simd;

// SSE2 has no half-float conversions; these are the definitions of ops/formats/half.h on four
// lanes.
template <>
struct Simd<Sse2> {
  using V = xsimd::batch<float, xsimd::sse2>;
  static constexpr int kLanes = 4;

  static WEFT_INLINE V fma(V a, V b, V c) { return a * b + c; }  // two roundings
  static WEFT_INLINE V low_bits_to_exponent(V v) {
    return V(_mm_castsi128_ps(_mm_slli_epi32(_mm_castps_si128(v), 23)));
  }
  static WEFT_INLINE V from_f16(__m128i h) {  // four 32-bit lanes with a half each
    const __m128i magnitude = _mm_and_si128(h, _mm_set1_epi32(0x7fff));
    const __m128i sign = _mm_slli_epi32(_mm_and_si128(h, _mm_set1_epi32(0x8000)), 16);
    const __m128 finite =
        _mm_mul_ps(_mm_castsi128_ps(_mm_slli_epi32(magnitude, 13)), _mm_set1_ps(0x1p112f));
    const __m128i special = _mm_and_si128(_mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7bff)),
                                          _mm_set1_epi32(0x7f800000));
    const __m128i quiet = _mm_and_si128(_mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7c00)),
                                        _mm_set1_epi32(0x00400000));
    return V(_mm_castsi128_ps(
        _mm_or_si128(_mm_or_si128(_mm_castps_si128(finite), sign), _mm_or_si128(special, quiet))));
  }
  static WEFT_INLINE V load_f16(const void* p) {
    return from_f16(
        _mm_unpacklo_epi16(_mm_loadl_epi64(static_cast<const __m128i*>(p)), _mm_setzero_si128()));
  }
  static WEFT_INLINE void store_f16(V v, void* p) {
    const __m128i bits = _mm_castps_si128(v);
    const __m128i magnitude = _mm_and_si128(bits, _mm_set1_epi32(0x7fffffff));
    const __m128i low_bit = _mm_and_si128(_mm_srli_epi32(magnitude, 13), _mm_set1_epi32(1));
    const __m128i rounded =
        _mm_add_epi32(_mm_add_epi32(magnitude, _mm_set1_epi32(0xfff - (112 << 23))), low_bit);
    const __m128 small = _mm_add_ps(_mm_castsi128_ps(magnitude), _mm_set1_ps(0.5f));
    __m128i half = _mm_srli_epi32(rounded, 13);
    half = choose(_mm_cmplt_epi32(magnitude, _mm_set1_epi32(0x38800000)),
                  _mm_sub_epi32(_mm_castps_si128(small), _mm_set1_epi32(0x3f000000)), half);
    half = choose(_mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x477fefff)), _mm_set1_epi32(0x7c00),
                  half);
    const __m128i payload = _mm_and_si128(_mm_srli_epi32(magnitude, 13), _mm_set1_epi32(0x3ff));
    half = choose(_mm_cmpgt_epi32(magnitude, _mm_set1_epi32(0x7f800000)),
                  _mm_or_si128(payload, _mm_set1_epi32(0x7e00)), half);
    half = _mm_or_si128(half, _mm_and_si128(_mm_srli_epi32(bits, 16), _mm_set1_epi32(0x8000)));
    half = _mm_srai_epi32(_mm_slli_epi32(half, 16), 16);  // packs_epi32 saturates signed values
    _mm_storel_epi64(static_cast<__m128i*>(p), _mm_packs_epi32(half, half));
  }
  static WEFT_INLINE V load_bf16(const void* p) {
    return V(_mm_castsi128_ps(
        _mm_unpacklo_epi16(_mm_setzero_si128(), _mm_loadl_epi64(static_cast<const __m128i*>(p)))));
  }
  static WEFT_INLINE float f16(const void* p) {
    std::uint16_t h;
    std::memcpy(&h, p, 2);
    return _mm_cvtss_f32(from_f16(_mm_cvtsi32_si128(h)));
  }
  static WEFT_INLINE float sum(__m128 v) {
    v = _mm_add_ps(v, _mm_movehl_ps(v, v));
    return _mm_cvtss_f32(_mm_add_ss(v, _mm_shuffle_ps(v, v, 1)));
  }
  static WEFT_INLINE float max(__m128 v) {
    v = _mm_max_ps(v, _mm_movehl_ps(v, v));
    return _mm_cvtss_f32(_mm_max_ss(v, _mm_shuffle_ps(v, v, 1)));
  }
  static WEFT_INLINE V swap_pairs(V v) { return V(_mm_shuffle_ps(v, v, 0xb1)); }
  // The first and the second of every pair: of one vector, twice each; of a and b, in a row.
  static WEFT_INLINE V firsts(V v) { return V(_mm_shuffle_ps(v, v, 0xa0)); }
  static WEFT_INLINE V seconds(V v) { return V(_mm_shuffle_ps(v, v, 0xf5)); }
  static WEFT_INLINE V firsts(V a, V b) { return V(_mm_shuffle_ps(a, b, 0x88)); }
  static WEFT_INLINE V seconds(V a, V b) { return V(_mm_shuffle_ps(a, b, 0xdd)); }
  static WEFT_INLINE V negate_firsts(V v) {
    return V(_mm_xor_ps(v, _mm_castsi128_ps(_mm_set1_epi64x(0x80000000))));
  }
  // The first n <= kLanes lanes, zeros behind them; touches no other memory.
  static WEFT_INLINE V load_part(const float* p, std::int64_t n) {
    __m128 v = _mm_setzero_ps();
    if (n & 4) return V(_mm_loadu_ps(p));
    if (n & 2) v = _mm_loadl_pi(v, reinterpret_cast<const __m64*>(p));
    if (n & 1) {
      const __m128 last = _mm_load_ss(p + n - 1);
      v = n == 1 ? last : _mm_movelh_ps(v, last);
    }
    return V(v);
  }
  static WEFT_INLINE void store_part(V v, float* p, std::int64_t n) {
    store_part(static_cast<__m128>(v), p, n);
  }
  static WEFT_INLINE void store_part(__m128 v, float* p, std::int64_t n) {
    if (n & 4) return _mm_storeu_ps(p, v);
    if (n & 2) {
      _mm_storel_pi(reinterpret_cast<__m64*>(p), v);
      v = _mm_movehl_ps(v, v);
    }
    if (n & 1) _mm_store_ss(p + n - 1, v);
  }
  static WEFT_INLINE void store_truncated(V v, std::int32_t* p) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_cvttps_epi32(v));
  }
  // kLanes signed bytes, and the low or high nibbles of kLanes bytes.
  static WEFT_INLINE V from_i8(const std::byte* p) {
    std::int32_t four;
    std::memcpy(&four, p, 4);
    const __m128i b = _mm_cvtsi32_si128(four), pairs = _mm_unpacklo_epi8(b, b);
    return V(_mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(pairs, pairs), 24)));
  }
  static WEFT_INLINE V from_nibbles(const std::byte* p, bool high) {
    std::int32_t four;
    std::memcpy(&four, p, 4);
    const __m128i zero = _mm_setzero_si128();
    const __m128i wide = _mm_unpacklo_epi16(_mm_unpacklo_epi8(_mm_cvtsi32_si128(four), zero), zero);
    const __m128i moved = high ? _mm_srli_epi32(wide, 4) : wide;
    return V(_mm_cvtepi32_ps(_mm_and_si128(moved, _mm_set1_epi32(15))));
  }
  static WEFT_INLINE __m128i choose(__m128i mask, __m128i yes, __m128i no) {
    return _mm_or_si128(_mm_and_si128(mask, yes), _mm_andnot_si128(mask, no));
  }
};

#ifdef __AVX2__
template <>
struct Simd<Avx2> {
  using V = xsimd::batch<float, xsimd::fma3<xsimd::avx2>>;
  static constexpr int kLanes = 8;

  static WEFT_INLINE V fma(V a, V b, V c) { return V(_mm256_fmadd_ps(a, b, c)); }
  static WEFT_INLINE V low_bits_to_exponent(V v) {
    return V(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(v), 23)));
  }
  static WEFT_INLINE V load_f16(const void* p) {
    return V(_mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(p))));
  }
  static WEFT_INLINE void store_f16(V v, void* p) {
    _mm_storeu_si128(static_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
  }
  static WEFT_INLINE V load_bf16(const void* p) {
    return V(_mm256_castsi256_ps(_mm256_slli_epi32(
        _mm256_cvtepu16_epi32(_mm_loadu_si128(static_cast<const __m128i*>(p))), 16)));
  }
  static WEFT_INLINE float f16(const void* p) {
    std::uint16_t h;
    std::memcpy(&h, p, 2);
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(h)));
  }
  static WEFT_INLINE float sum(__m256 v) {
    return Simd<Sse2>::sum(_mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1)));
  }
  static WEFT_INLINE float max(__m256 v) {
    return Simd<Sse2>::max(_mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1)));
  }
  static WEFT_INLINE V swap_pairs(V v) { return V(_mm256_permute_ps(v, 0xb1)); }
  static WEFT_INLINE V firsts(V v) { return V(_mm256_moveldup_ps(v)); }
  static WEFT_INLINE V seconds(V v) { return V(_mm256_movehdup_ps(v)); }
  static WEFT_INLINE V firsts(V a, V b) { return quarters(_mm256_shuffle_ps(a, b, 0x88)); }
  static WEFT_INLINE V seconds(V a, V b) { return quarters(_mm256_shuffle_ps(a, b, 0xdd)); }
  static WEFT_INLINE V quarters(__m256 v) {
    return V(_mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xd8)));
  }
  static WEFT_INLINE V negate_firsts(V v) {
    return V(_mm256_xor_ps(v, _mm256_castsi256_ps(_mm256_set1_epi64x(0x80000000))));
  }
  static WEFT_INLINE V load_part(const float* p, std::int64_t n) {
    const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return V(
        _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), index)));
  }
  // In pieces: some processors are slow at masked stores.
  static WEFT_INLINE void store_part(V v, float* p, std::int64_t n) {
    if (n & 8) return _mm256_storeu_ps(p, v);
    __m128 low = _mm256_castps256_ps128(v);
    if (n & 4) {
      _mm_storeu_ps(p, low);
      low = _mm256_extractf128_ps(v, 1);
      p += 4;
    }
    Simd<Sse2>::store_part(low, p, n & 3);
  }
  static WEFT_INLINE void store_truncated(V v, std::int32_t* p) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_cvttps_epi32(v));
  }
  static WEFT_INLINE V from_i8(const std::byte* p) {
    const __m128i b = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return V(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(b)));
  }
  static WEFT_INLINE V from_nibbles(const std::byte* p, bool high) {
    const __m256i wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    const __m256i moved = high ? _mm256_srli_epi32(wide, 4) : wide;
    return V(_mm256_cvtepi32_ps(_mm256_and_si256(moved, _mm256_set1_epi32(15))));
  }
};
#endif

#ifdef __AVX512BW__
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
struct Simd<Avx512Vnni> : Simd<Avx512> {};
#endif

// Parts of vectors, for the ends of rows: whatever is computed on them has the bits that a whole
// vector would have.
template <class Arch>
struct Part {
  using V = typename Simd<Arch>::V;
  static constexpr int kLanes = Simd<Arch>::kLanes;

  // n <= kLanes floats, zeros behind them.
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

}  // namespace weft::cpu
