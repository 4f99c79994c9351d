#pragma once
// Sixteen (simd/sixteen.inl.h) in one register, with AVX-512.

#ifdef __AVX512BW__

namespace weft::cpu {

template <>
struct Sixteen<Avx512> {
  using Words = __m512i;
  using Floats = __m512;
  using Shared = __m512i;

  static constexpr int kRaise = 0;
  static constexpr int kTile = 8, kSums = 16, kDirectTile = 8, kMaxDirect = 16, kDirectParts = 8;
  static constexpr bool kAccumulates = true;
  static constexpr bool kPairs = false;

  template <bool kFrom, int kMaxCode, bool kSigned, int kLength, class Arch>
  using Sums = PairSums<Sixteen<Arch>, kFrom, kMaxCode, kSigned, kLength>;

  static WEFT_INLINE Words load(const std::byte* p) { return _mm512_loadu_si512(p); }
  static WEFT_INLINE Words load_bytes(const std::byte* p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static WEFT_INLINE Floats load_f16(const std::byte* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static WEFT_INLINE Floats load_floats(const float* p) { return _mm512_load_ps(p); }
  static WEFT_INLINE void store(float* p, Floats v) { _mm512_store_ps(p, v); }
  static WEFT_INLINE void store(std::byte* p, Words v) { _mm512_storeu_si512(p, v); }
  template <int kBytes>
  static WEFT_INLINE void store_low(std::byte* p, Words v) {
    if constexpr (kBytes == 2) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtepi32_epi16(v));
    } else {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(v));
    }
  }
  static WEFT_INLINE __m128i load128(const std::byte* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  template <class Row>
  static WEFT_INLINE void from_rows(Row row, Words (&out)[4]) {
    __m512i v[4];  // rows i, 4 + i, 8 + i, 12 + i
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      v[i] = _mm512_castsi128_si512(load128(row(i)));
      v[i] = _mm512_inserti32x4(v[i], load128(row(4 + i)), 1);
      v[i] = _mm512_inserti32x4(v[i], load128(row(8 + i)), 2);
      v[i] = _mm512_inserti32x4(v[i], load128(row(12 + i)), 3);
    }
    const __m512i a = _mm512_unpacklo_epi32(v[0], v[1]), b = _mm512_unpackhi_epi32(v[0], v[1]),
                  c = _mm512_unpacklo_epi32(v[2], v[3]), d = _mm512_unpackhi_epi32(v[2], v[3]);
    out[0] = _mm512_unpacklo_epi64(a, c);
    out[1] = _mm512_unpackhi_epi64(a, c);
    out[2] = _mm512_unpacklo_epi64(b, d);
    out[3] = _mm512_unpackhi_epi64(b, d);
  }
  static WEFT_INLINE Shared shared(std::int32_t word) {
    return _mm512_set1_epi32(word);
  }
  static WEFT_INLINE Words joined(__m256i low, __m256i high) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
  static WEFT_INLINE Words all32(std::int32_t n) {
    return _mm512_set1_epi32(n);
  }
  static WEFT_INLINE Words all8(int n) {
    return _mm512_set1_epi8(static_cast<char>(n));
  }
  static WEFT_INLINE Floats all(float x) {
    return _mm512_set1_ps(x);
  }

  static WEFT_INLINE Words add8(Words a, Words b) {
    return _mm512_add_epi8(a, b);
  }
  static WEFT_INLINE Words add16(Words a, Words b) {
    return _mm512_add_epi16(a, b);
  }
  static WEFT_INLINE Words add32(Words a, Words b) {
    return _mm512_add_epi32(a, b);
  }
  static WEFT_INLINE Words sub32(Words a, Words b) {
    return _mm512_sub_epi32(a, b);
  }
  static WEFT_INLINE Words min32(Words a, Words b) {
    return _mm512_min_epi32(a, b);
  }
  static WEFT_INLINE Words max32(Words a, Words b) {
    return _mm512_max_epi32(a, b);
  }
  static WEFT_INLINE Words left16(Words v, int n) {
    return _mm512_slli_epi16(v, static_cast<unsigned>(n));
  }
  static WEFT_INLINE Words right16(Words v, int n) {
    return _mm512_srli_epi16(v, static_cast<unsigned>(n));
  }
  static WEFT_INLINE Words left32(Words v, int n) {
    return _mm512_slli_epi32(v, static_cast<unsigned>(n));
  }
  static WEFT_INLINE Words right32(Words v, int n) {
    return _mm512_srli_epi32(v, static_cast<unsigned>(n));
  }
  static WEFT_INLINE Words signed_right32(Words v, int n) {
    return _mm512_srai_epi32(v, static_cast<unsigned>(n));
  }
  static WEFT_INLINE Words or_masked(Words a, Words b, Words mask) {
    return _mm512_ternarylogic_epi64(a, b, mask, 0xf8);
  }
  static WEFT_INLINE Words clear8(Words v, int n) {
    return _mm512_maskz_mov_epi8(_mm512_cmpneq_epi8_mask(v, all8(n)), v);
  }
  static WEFT_INLINE Words look_up(__m128i table, Words numbers) {
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), numbers);
  }
  static WEFT_INLINE Words trits(Words b) {
    const __m512i one = _mm512_maskz_set1_epi8(_mm512_cmpgt_epu8_mask(b, all8(85)), 1);
    return _mm512_mask_mov_epi8(one, _mm512_cmpgt_epu8_mask(b, all8(170)), all8(2));
  }

  static WEFT_INLINE std::int32_t max_of(Words v) {
    return _mm512_reduce_max_epi32(v);
  }
  static WEFT_INLINE void pin(Words& v) {
    asm("" : "+v"(v));
  }
  static WEFT_INLINE void store_rounded(std::int16_t* p, Floats v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(v)));
  }

  static WEFT_INLINE Floats to_floats(Words v) {
    return _mm512_cvtepi32_ps(v);
  }
  static WEFT_INLINE Floats bits_to_floats(Words v) {
    return _mm512_castsi512_ps(v);
  }
  static WEFT_INLINE Floats low_halves(Words v) {
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(v));
  }
  static WEFT_INLINE Floats negate(Floats v) {
    return _mm512_sub_ps(_mm512_setzero_ps(), v);
  }
  static WEFT_INLINE Floats fma(Floats a, Floats b, Floats c) {
    return _mm512_fmadd_ps(a, b, c);
  }
  static WEFT_INLINE Floats fnma(Floats a, Floats b, Floats c) {
    return _mm512_fnmadd_ps(a, b, c);
  }

  template <bool kSigned>
  static WEFT_INLINE Words pair_products(Words w, Shared x) {
    if constexpr (!kSigned) return _mm512_maddubs_epi16(w, x);
    return _mm512_maddubs_epi16(
        _mm512_abs_epi8(w),
        _mm512_mask_sub_epi8(x, _mm512_movepi8_mask(w), _mm512_setzero_si512(), x));
  }
  static WEFT_INLINE Words add_pairs(Words v) {
    return _mm512_madd_epi16(v, _mm512_set1_epi16(1));
  }
};

#ifdef __AVX512VNNI__
template <>
struct Sixteen<Avx512Vnni> : Sixteen<Avx512> {
  static constexpr int kRaise = 128, kTile = 12;

  template <bool kFrom, int, bool, int, class Arch>
  using Sums = WordSums<Sixteen<Arch>, kFrom>;

  static WEFT_INLINE Words dot(Words sum, Words w, Shared x) {
    return _mm512_dpbusd_epi32(sum, w, x);
  }
};
#endif

}  // namespace weft::cpu

#endif
