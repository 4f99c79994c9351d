#pragma once
// Sixteen (simd/sixteen.inl.h) in two registers, with AVX2.

#ifdef __AVX2__

namespace weft::cpu {

// Without VNNI. Sums of pairs of products stay in 16 bits as long as they cannot overflow.
template <class S, bool kFrom, int kMaxCode, bool kSigned, int kLength>
struct PairSums {
  static constexpr int kFitting = 32767 / (2 * 127 * kMaxCode);
  static constexpr int kPairs = kFitting >= kLength ? kLength : kFitting >= 4 ? 4 : kFitting;
  static_assert(kPairs >= 1 && kLength % kPairs == 0);
  static constexpr int kAtOnce = kPairs == 2 ? 2 : 1;  // so that pairs need not be kept

  typename S::Words sum, pairs;

  template <class F>
  WEFT_INLINE void start(F) {}
  WEFT_INLINE void add(int i, typename S::Words w, typename S::Shared x) {
    const auto products = S::template pair_products<kSigned>(w, x);
    pairs = i % kPairs == 0 ? products : S::add16(pairs, products);
    if (i % kPairs != 0) S::pin(pairs);
    if (i % kPairs < kPairs - 1) return;
    const auto words = S::add_pairs(pairs);
    sum = i < kPairs ? words : S::add32(sum, words);
    if (i >= kPairs) S::pin(sum);
  }
  template <class F>
  WEFT_INLINE typename S::Words total(F from) const {
    if constexpr (kFrom) return S::add32(sum, from());
    return sum;
  }
};

template <>
struct Sixteen<Avx2> {
  struct [[gnu::may_alias]] Words {
    __m256i low, high;

    WEFT_INLINE Words operator&(Words o) const { return {low & o.low, high & o.high}; }
    WEFT_INLINE Words operator|(Words o) const { return {low | o.low, high | o.high}; }
    WEFT_INLINE Words operator^(Words o) const { return {low ^ o.low, high ^ o.high}; }
  };
  struct [[gnu::may_alias]] Floats {
    __m256 low, high;

    WEFT_INLINE Floats operator*(Floats o) const {
      return {_mm256_mul_ps(low, o.low), _mm256_mul_ps(high, o.high)};
    }
    WEFT_INLINE Floats operator+(Floats o) const {
      return {_mm256_add_ps(low, o.low), _mm256_add_ps(high, o.high)};
    }
  };
  using Shared = __m256i;  // the same word for all rows

  static constexpr int kRaise = 0;
  static constexpr int kTile = 4;              // tokens whose sums stay in registers
  static constexpr int kSums = 4;              // sums that do, while codes are extracted
  static constexpr int kDirectTile = 4;        // kTile, while codes are extracted
  static constexpr int kMaxDirect = 8;         // max tokens for which they are, panel by panel
  static constexpr int kDirectParts = 2;       // max parts of a group for which they are
  static constexpr bool kAccumulates = false;  // in registers, besides sums of products
  static constexpr bool kPairs = false;        // multiplies two tokens at once

  template <bool kFrom, int kMaxCode, bool kSigned, int kLength, class Arch>
  using Sums = PairSums<Sixteen<Arch>, kFrom, kMaxCode, kSigned, kLength>;

  static WEFT_INLINE Words load(const std::byte* p) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))};
  }
  static WEFT_INLINE Words load_bytes(const std::byte* p) {
    return {_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))),
            _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + 8)))};
  }
  static WEFT_INLINE Floats load_f16(const std::byte* p) {
    return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
            _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16)))};
  }
  static WEFT_INLINE Floats load_floats(const float* p) {
    return {_mm256_load_ps(p), _mm256_load_ps(p + 8)};
  }
  static WEFT_INLINE void store(float* p, Floats v) {
    _mm256_store_ps(p, v.low);
    _mm256_store_ps(p + 8, v.high);
  }
  static WEFT_INLINE void store(std::byte* p, Words v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v.low);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 32), v.high);
  }
  // The low kBytes of words, next to each other.
  template <int kBytes>
  static WEFT_INLINE void store_low(std::byte* p, Words v) {
    v = v & all32((1 << 8 * kBytes) - 1);
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packus_epi32(v.low, v.high), 0xd8);
    if constexpr (kBytes == 2) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), words);
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(p),
        _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
  }
  // Four words of each of 16 rows; row(r) points to those of row r.
  template <class Row>
  static WEFT_INLINE void from_rows(Row row, Words (&out)[4]) {
    __m256i halves[2][4];
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) from_eight(row, 8 * h, halves[h]);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) out[i] = {halves[0][i], halves[1][i]};
  }
  static WEFT_INLINE __m128i load128(const std::byte* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  template <class Row>
  static WEFT_INLINE void from_eight(Row row, int first, __m256i (&out)[4]) {
    __m256i v[4];  // rows i and 4 + i
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      v[i] = _mm256_castsi128_si256(load128(row(first + i)));
      v[i] = _mm256_inserti128_si256(v[i], load128(row(first + 4 + i)), 1);
    }
    const __m256i a = _mm256_unpacklo_epi32(v[0], v[1]), b = _mm256_unpackhi_epi32(v[0], v[1]),
                  c = _mm256_unpacklo_epi32(v[2], v[3]), d = _mm256_unpackhi_epi32(v[2], v[3]);
    out[0] = _mm256_unpacklo_epi64(a, c);
    out[1] = _mm256_unpackhi_epi64(a, c);
    out[2] = _mm256_unpacklo_epi64(b, d);
    out[3] = _mm256_unpackhi_epi64(b, d);
  }
  static WEFT_INLINE Shared shared(std::int32_t word) {
    return _mm256_set1_epi32(word);
  }
  static WEFT_INLINE Words both(__m256i v) {
    return {v, v};
  }
  static WEFT_INLINE Words joined(__m256i low, __m256i high) {
    return {low, high};
  }
  static WEFT_INLINE Words all32(std::int32_t n) {
    return both(_mm256_set1_epi32(n));
  }
  static WEFT_INLINE Words all8(int n) {
    return both(_mm256_set1_epi8(static_cast<char>(n)));
  }
  static WEFT_INLINE Floats all(float x) {
    return {_mm256_set1_ps(x), _mm256_set1_ps(x)};
  }

  static WEFT_INLINE Words add8(Words a, Words b) {
    return {_mm256_add_epi8(a.low, b.low), _mm256_add_epi8(a.high, b.high)};
  }
  static WEFT_INLINE Words add16(Words a, Words b) {
    return {_mm256_add_epi16(a.low, b.low), _mm256_add_epi16(a.high, b.high)};
  }
  static WEFT_INLINE Words add32(Words a, Words b) {
    return {_mm256_add_epi32(a.low, b.low), _mm256_add_epi32(a.high, b.high)};
  }
  static WEFT_INLINE Words sub32(Words a, Words b) {
    return {_mm256_sub_epi32(a.low, b.low), _mm256_sub_epi32(a.high, b.high)};
  }
  static WEFT_INLINE Words min32(Words a, Words b) {
    return {_mm256_min_epi32(a.low, b.low), _mm256_min_epi32(a.high, b.high)};
  }
  static WEFT_INLINE Words max32(Words a, Words b) {
    return {_mm256_max_epi32(a.low, b.low), _mm256_max_epi32(a.high, b.high)};
  }
  static WEFT_INLINE Words left16(Words v, int n) {
    return {_mm256_slli_epi16(v.low, n), _mm256_slli_epi16(v.high, n)};
  }
  static WEFT_INLINE Words right16(Words v, int n) {
    return {_mm256_srli_epi16(v.low, n), _mm256_srli_epi16(v.high, n)};
  }
  static WEFT_INLINE Words left32(Words v, int n) {
    return {_mm256_slli_epi32(v.low, n), _mm256_slli_epi32(v.high, n)};
  }
  static WEFT_INLINE Words right32(Words v, int n) {
    return {_mm256_srli_epi32(v.low, n), _mm256_srli_epi32(v.high, n)};
  }
  static WEFT_INLINE Words signed_right32(Words v, int n) {
    return {_mm256_srai_epi32(v.low, n), _mm256_srai_epi32(v.high, n)};
  }
  // a | (b & mask)
  static WEFT_INLINE Words or_masked(Words a, Words b, Words mask) {
    return a | (b & mask);
  }
  // Bytes that equal `n` become 0.
  static WEFT_INLINE Words clear8(Words v, int n) {
    const __m256i bytes = _mm256_set1_epi8(static_cast<char>(n));
    return {_mm256_andnot_si256(_mm256_cmpeq_epi8(v.low, bytes), v.low),
            _mm256_andnot_si256(_mm256_cmpeq_epi8(v.high, bytes), v.high)};
  }
  // The values in `table` of numbers below 16.
  static WEFT_INLINE Words look_up(__m128i table, Words numbers) {
    const __m256i t = _mm256_broadcastsi128_si256(table);
    return {_mm256_shuffle_epi8(t, numbers.low), _mm256_shuffle_epi8(t, numbers.high)};
  }
  // The integer part of three times b / 256.
  static WEFT_INLINE Words trits(Words b) {
    return {trits(b.low), trits(b.high)};
  }
  static WEFT_INLINE __m256i trits(__m256i b) {
    const auto from = [&](int n) __attribute__((always_inline)) {
      const __m256i first = _mm256_set1_epi8(static_cast<char>(n));
      return _mm256_cmpeq_epi8(_mm256_max_epu8(b, first), b);
    };
    return _mm256_sub_epi8(_mm256_setzero_si256(), _mm256_add_epi8(from(86), from(171)));
  }

  // The largest of signed words.
  static WEFT_INLINE std::int32_t max_of(Words v) {
    const __m256i both = _mm256_max_epi32(v.low, v.high);
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    return _mm_cvtsi128_si32(_mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1)));
  }
  // Keeps a sum in registers where the compiler would copy it.
  static WEFT_INLINE void pin(Words& v) {
    asm("" : "+x"(v.low), "+x"(v.high));
  }
  // Floats within 16 bits, rounded to nearest even.
  static WEFT_INLINE void store_rounded(std::int16_t* p, Floats v) {
    const __m256i words = _mm256_packs_epi32(_mm256_cvtps_epi32(v.low), _mm256_cvtps_epi32(v.high));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(words, 0xd8));
  }

  static WEFT_INLINE Floats to_floats(Words v) {
    return {_mm256_cvtepi32_ps(v.low), _mm256_cvtepi32_ps(v.high)};
  }
  static WEFT_INLINE Floats bits_to_floats(Words v) {
    return {_mm256_castsi256_ps(v.low), _mm256_castsi256_ps(v.high)};
  }
  // The low two bytes of words, as half floats.
  static WEFT_INLINE Floats low_halves(Words v) {
    const Words low = v & all32(0xffff);
    const __m256i all = _mm256_permute4x64_epi64(_mm256_packus_epi32(low.low, low.high), 0xd8);
    return {_mm256_cvtph_ps(_mm256_castsi256_si128(all)),
            _mm256_cvtph_ps(_mm256_extracti128_si256(all, 1))};
  }
  static WEFT_INLINE Floats negate(Floats v) {
    return {_mm256_sub_ps(_mm256_setzero_ps(), v.low), _mm256_sub_ps(_mm256_setzero_ps(), v.high)};
  }
  static WEFT_INLINE Floats fma(Floats a, Floats b, Floats c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  // c - a * b
  static WEFT_INLINE Floats fnma(Floats a, Floats b, Floats c) {
    return {_mm256_fnmadd_ps(a.low, b.low, c.low), _mm256_fnmadd_ps(a.high, b.high, c.high)};
  }

  // Sums of two neighbours' products.
  template <bool kSigned>
  static WEFT_INLINE Words pair_products(Words w, Shared x) {
    return {pair_products<kSigned>(w.low, x), pair_products<kSigned>(w.high, x)};
  }
  template <bool kSigned>
  static WEFT_INLINE __m256i pair_products(__m256i w, Shared x) {
    if constexpr (!kSigned) return _mm256_maddubs_epi16(w, x);
    return _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(x, w));
  }
  static WEFT_INLINE Words add_pairs(Words v) {
    const __m256i one = _mm256_set1_epi16(1);
    return {_mm256_madd_epi16(v.low, one), _mm256_madd_epi16(v.high, one)};
  }
};

#ifdef __AVXVNNI__
template <>
struct Sixteen<AvxVnni> : Sixteen<Avx2> {
  static constexpr int kRaise = 128, kTile = 6;

  template <bool kFrom, int, bool, int, class Arch>
  using Sums = WordSums<Sixteen<Arch>, kFrom>;

  static WEFT_INLINE Words dot(Words sum, Words w, Shared x) {
    return {_mm256_dpbusd_avx_epi32(sum.low, w.low, x),
            _mm256_dpbusd_avx_epi32(sum.high, w.high, x)};
  }
};
#endif

}  // namespace weft::cpu

#endif
