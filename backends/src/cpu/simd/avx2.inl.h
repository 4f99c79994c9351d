#pragma once
// Traits of AVX2, and code shared by all sets with 256-bit vectors.

#ifdef __AVX2__

#include <immintrin.h>
#include <xsimd/xsimd.hpp>

namespace weft::cpu {

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
  static WEFT_INLINE float root(float x) { return Simd<Sse2>::root(x); }
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
  static WEFT_INLINE void sixteen_to_floats(const std::byte* p, typename Simd<Arch>::V* out) {
    to_floats(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), out);
  }
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

template <class Arch>
struct Lookup {
  using B = Bytes<Arch>;

  template <const auto& kValues, int kOffset>
  static WEFT_INLINE __m128i table() {
    constexpr std::uint64_t kLow = TableWord<kValues>::from(0, kOffset);
    constexpr std::uint64_t kHigh = TableWord<kValues>::from(8, kOffset);
    return _mm_set_epi64x(static_cast<long long>(kHigh), static_cast<long long>(kLow));
  }
  template <const auto& kValues>
  static WEFT_INLINE B sixteens(B nibbles) {
    const __m128i table = Lookup::table<kValues, 0>();
    return {_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), nibbles.v)};
  }
  static WEFT_INLINE B e2m1(B nibbles) { return sixteens<kE2M1Doubled>(nibbles); }
  static WEFT_INLINE B eights(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
    return {_mm256_setr_epi64x(static_cast<long long>(a), static_cast<long long>(b),
                               static_cast<long long>(c), static_cast<long long>(d))};
  }
  static WEFT_INLINE B fours(const std::int32_t (&p)[8]) {
    return {_mm256_setr_epi32(p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7])};
  }
  static WEFT_INLINE B all(int value) { return {_mm256_set1_epi8(static_cast<char>(value))}; }
  static WEFT_INLINE B negate(B b, std::uint32_t signs) {
#ifdef __AVX512BW__
    return {_mm256_mask_sub_epi8(b.v, signs, _mm256_setzero_si256(), b.v)};
#else
    const __m256i bits = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ull));
    const __m256i byte_of =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i eight = _mm256_shuffle_epi8(_mm256_set1_epi32(static_cast<int>(signs)), byte_of);
    const __m256i mask = _mm256_cmpeq_epi8(_mm256_and_si256(eight, bits), bits);
    return {_mm256_sub_epi8(_mm256_xor_si256(b.v, mask), mask)};
#endif
  }
  static WEFT_INLINE B pairs(std::uint64_t codes) {
    const __m256i byte_of = _mm256_setr_epi8(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4,
                                             4, 4, 5, 5, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7);
    const __m256i four =
        _mm256_shuffle_epi8(_mm256_set1_epi64x(static_cast<long long>(codes)), byte_of);
    // From four equal bytes, takes bits 0-1, 2-3, 4-5 and 6-7; the last two move to the positions
    // of the first two.
    const __m256i moved = _mm256_blend_epi16(four, _mm256_srli_epi16(four, 4), 0xaa);
    const __m256i own = _mm256_and_si256(moved, _mm256_set1_epi16(0x0c03));
    const __m128i table = _mm_setr_epi8(-1, 0, 1, 2, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0);
    return {_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), own)};
  }
  static WEFT_INLINE B thrice(B b) {
    return {_mm256_add_epi8(b.v, _mm256_add_epi8(b.v, b.v))};
  }
  static WEFT_INLINE B trits(B b) {
    const auto below = [&](int n) __attribute__((always_inline)) {
      const __m256i last = _mm256_set1_epi8(static_cast<char>(n - 1));
      return _mm256_cmpeq_epi8(_mm256_min_epu8(b.v, last), b.v);
    };
    return {_mm256_add_epi8(_mm256_set1_epi8(1), _mm256_add_epi8(below(86), below(171)))};
  }
  static WEFT_INLINE B eightfold(B b, B addend) {
    const __m256i top = _mm256_set1_epi8(static_cast<char>(0xf8));
    return {_mm256_add_epi8(_mm256_and_si256(_mm256_slli_epi16(b.v, 3), top), addend.v)};
  }
};

template <>
struct Quarters<Avx2> {
  using R = __m256;
  static WEFT_INLINE R low(R a, R b) { return _mm256_unpacklo_ps(a, b); }
  static WEFT_INLINE R high(R a, R b) { return _mm256_unpackhi_ps(a, b); }
  static WEFT_INLINE R low_pairs(R a, R b) { return _mm256_shuffle_ps(a, b, 0x44); }
  static WEFT_INLINE R high_pairs(R a, R b) { return _mm256_shuffle_ps(a, b, 0xee); }
};

template <class Arch>
struct QuantizedCodes {
  using V = typename Simd<Arch>::V;
  static constexpr int kLanes = Simd<Arch>::kLanes;

  static WEFT_INLINE void store(const V (&x)[32 / kLanes], std::byte* out,
                                std::int32_t (&sums)[2]) {
    const __m256i codes = _mm256_max_epi8(pack(x), _mm256_set1_epi8(-127));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), codes);
    const __m256i quarters =
        _mm256_sad_epu8(_mm256_xor_si256(codes, _mm256_set1_epi8(-128)), _mm256_setzero_si256());
    const __m256i halves = _mm256_add_epi32(quarters, _mm256_shuffle_epi32(quarters, 0x4e));
    sums[0] = _mm_cvtsi128_si32(_mm256_castsi256_si128(halves)) - 16 * 128;
    sums[1] = _mm_cvtsi128_si32(_mm256_extracti128_si256(halves, 1)) - 16 * 128;
  }
  static WEFT_INLINE __m256i pack(const V (&x)[32 / kLanes]) {
    if constexpr (kLanes == 8) {  // packing works within halves of a register
      const __m256i low = _mm256_packs_epi32(_mm256_cvtps_epi32(x[0]), _mm256_cvtps_epi32(x[1]));
      const __m256i high = _mm256_packs_epi32(_mm256_cvtps_epi32(x[2]), _mm256_cvtps_epi32(x[3]));
      return _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high),
                                         _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    } else {
#ifdef __AVX512BW__
      return _mm256_set_m128i(_mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(x[1])),
                              _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(x[0])));
#endif
    }
  }
  static WEFT_INLINE float largest_magnitude(const V (&x)[32 / kLanes]) {
    __m256i m;
    if constexpr (kLanes == 8) {
      const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
      __m256i parts[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) parts[i] = _mm256_and_si256(_mm256_castps_si256(x[i]), magnitude);
      m = _mm256_max_epi32(_mm256_max_epi32(parts[0], parts[1]),
                           _mm256_max_epi32(parts[2], parts[3]));
    } else {
#ifdef __AVX512BW__
      const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
      const __m512i both = _mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(x[0]), magnitude),
                                            _mm512_and_si512(_mm512_castps_si512(x[1]), magnitude));
      m = _mm256_max_epi32(_mm512_castsi512_si256(both), _mm512_extracti32x8_epi32(both, 1));
#endif
    }
    __m128i n = _mm_max_epi32(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
    n = _mm_max_epi32(n, _mm_shuffle_epi32(n, 0x4e));
    return _mm_cvtss_f32(_mm_castsi128_ps(_mm_max_epi32(n, _mm_shuffle_epi32(n, 0xb1))));
  }
};

}  // namespace weft::cpu

#endif
