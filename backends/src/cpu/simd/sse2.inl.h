#pragma once
// Traits of SSE2.

#ifdef __SSE2__

#include <immintrin.h>
#include <xsimd/xsimd.hpp>

namespace weft::cpu {

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
  static WEFT_INLINE float root(float x) { return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))); }
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
  // The first n <= kLanes lanes, followed by zeros; touches no other memory.
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
  // Swaps bytes 8-15 and 16-23.
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
  static WEFT_INLINE void sixteen_to_floats(const std::byte* p, Simd<Sse2>::V* out) {
    to_floats(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), out);
  }
  static WEFT_INLINE void to_floats(__m128i b, Simd<Sse2>::V* out) {
    const __m128i zero = _mm_setzero_si128();
    const __m128i words[] = {_mm_unpacklo_epi8(zero, b), _mm_unpackhi_epi8(zero, b)};
    for (int i = 0; i < 2; ++i) {
      out[2 * i] = _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(zero, words[i]), 24));
      out[2 * i + 1] = _mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpackhi_epi16(zero, words[i]), 24));
    }
  }
};

// Exact integer dot products of 32 weight codes with 32 activation codes, added to a vector of
// float lanes:
//   lanes += float(partial sums of w * a) * (scale of the weights * scale of the activations)
// One vector per output element takes all of its blocks in the order of K and is summed across
// lanes once at the end, so an element's bits do not depend on what else is computed with it.
//
// A codec declares how to read its codes: kSigned (signed bytes), or unsigned with kOffset to be
// subtracted. Codes are widened to 16 bits; lanes of the first and of the second half of the block
// are added one after the other.
template <class Arch, class Codec>
struct Dot {
  using Lanes = __m128;
  struct Weights {
    __m128i w[4];
    __m128 scale[2];
  };
  struct Activations {
    __m128i a[4];
    __m128 scale;
  };

  static WEFT_INLINE Lanes zero() { return _mm_setzero_ps(); }
  static WEFT_INLINE Weights weights(Bytes<Arch> codes, const float* scales) {
    if constexpr (Codec::kOffset != 0) codes = codes.minus(Codec::kOffset);
    Weights w;
    widen(codes, w.w);
    w.scale[0] = _mm_set1_ps(scales[0]);
    w.scale[1] = Codec::kTwoScales ? _mm_set1_ps(scales[1]) : w.scale[0];
    return w;
  }
  static WEFT_INLINE Activations activations(const std::byte* block) {
    Activations a;
    widen(Bytes<Arch>::load(block + ActivationBlock::kCodes), a.a);
    a.scale = _mm_load1_ps(reinterpret_cast<const float*>(block));
    return a;
  }
  static WEFT_INLINE Lanes add(Lanes lanes, const Weights& w, const Activations& a) {
    for (int i = 0; i < 2; ++i) {
      const __m128i sum = _mm_add_epi32(_mm_madd_epi16(w.w[2 * i], a.a[2 * i]),
                                        _mm_madd_epi16(w.w[2 * i + 1], a.a[2 * i + 1]));
      lanes = _mm_add_ps(lanes, _mm_mul_ps(_mm_cvtepi32_ps(sum), _mm_mul_ps(w.scale[i], a.scale)));
    }
    return lanes;
  }
  static WEFT_INLINE Lanes subtract(Lanes lanes, const float* mins, const float* sums) {
    for (int i = 0; i < 8; i += 4)
      lanes = _mm_sub_ps(lanes, _mm_mul_ps(_mm_loadu_ps(mins + i), _mm_loadu_ps(sums + i)));
    return lanes;
  }
  static WEFT_INLINE void widen(Bytes<Arch> b, __m128i (&out)[4]) {
    const __m128i zero = _mm_setzero_si128();
    out[0] = _mm_srai_epi16(_mm_unpacklo_epi8(zero, b.low), 8);
    out[1] = _mm_srai_epi16(_mm_unpackhi_epi8(zero, b.low), 8);
    out[2] = _mm_srai_epi16(_mm_unpacklo_epi8(zero, b.high), 8);
    out[3] = _mm_srai_epi16(_mm_unpackhi_epi8(zero, b.high), 8);
  }
};

template <>
struct Lookup<Sse2> {
  using B = Bytes<Sse2>;

  // There is no instruction for it.
  template <const auto& kValues>
  static WEFT_INLINE B sixteens(B nibbles) {
    alignas(16) std::uint8_t in[32];
    alignas(16) std::int8_t out[32];
    _mm_store_si128(reinterpret_cast<__m128i*>(in), nibbles.low);
    _mm_store_si128(reinterpret_cast<__m128i*>(in + 16), nibbles.high);
    for (int i = 0; i < 32; ++i) out[i] = kValues[in[i]];
    return B::load(reinterpret_cast<const std::byte*>(out));
  }
  // E2M1, doubled. A code's low bits are the number if they are below 5; 5, 6, 7 are 6, 8, 12.
  static WEFT_INLINE B e2m1(B nibbles) { return {e2m1(nibbles.low), e2m1(nibbles.high)}; }
  static WEFT_INLINE __m128i e2m1(__m128i nibbles) {
    const __m128i n = _mm_and_si128(nibbles, _mm_set1_epi8(7));
    const auto above = [&](char than, char add) __attribute__((always_inline)) {
      return _mm_and_si128(_mm_cmpgt_epi8(n, _mm_set1_epi8(than)), _mm_set1_epi8(add));
    };
    const __m128i sum =
        _mm_add_epi8(_mm_add_epi8(n, above(4, 1)), _mm_add_epi8(above(5, 1), above(6, 3)));
    const __m128i minus = _mm_cmpgt_epi8(nibbles, _mm_set1_epi8(7));
    return _mm_sub_epi8(_mm_xor_si128(sum, minus), minus);
  }
  static WEFT_INLINE B eights(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
    return {_mm_set_epi64x(static_cast<long long>(b), static_cast<long long>(a)),
            _mm_set_epi64x(static_cast<long long>(d), static_cast<long long>(c))};
  }
  static WEFT_INLINE B fours(const std::int32_t (&p)[8]) {
    return {_mm_setr_epi32(p[0], p[1], p[2], p[3]), _mm_setr_epi32(p[4], p[5], p[6], p[7])};
  }
  static WEFT_INLINE B all(int value) {
    return {_mm_set1_epi8(static_cast<char>(value)), _mm_set1_epi8(static_cast<char>(value))};
  }
  // The bytes whose bit is set, negated.
  static WEFT_INLINE B negate(B b, std::uint32_t signs) {
    return {negate(b.low, signs), negate(b.high, signs >> 16)};
  }
  static WEFT_INLINE __m128i negate(__m128i b, std::uint32_t signs) {
    const __m128i bits = _mm_set1_epi64x(static_cast<long long>(0x8040201008040201ull));
    const __m128i twice = _mm_unpacklo_epi8(_mm_cvtsi32_si128(static_cast<int>(signs)),
                                            _mm_cvtsi32_si128(static_cast<int>(signs)));
    const __m128i eight = _mm_shuffle_epi32(_mm_unpacklo_epi16(twice, twice), 0x50);
    const __m128i mask = _mm_cmpeq_epi8(_mm_and_si128(eight, bits), bits);
    return _mm_sub_epi8(_mm_xor_si128(b, mask), mask);
  }
  // 32 codes of 2 bits, the lowest ones first, minus 1.
  static WEFT_INLINE B pairs(std::uint64_t codes) {
    alignas(16) std::int8_t out[32];
    for (int i = 0; i < 32; ++i) out[i] = static_cast<std::int8_t>((codes >> 2 * i & 3) - 1);
    return B::load(reinterpret_cast<const std::byte*>(out));
  }
  static WEFT_INLINE B thrice(B b) {
    return {_mm_add_epi8(b.low, _mm_add_epi8(b.low, b.low)),
            _mm_add_epi8(b.high, _mm_add_epi8(b.high, b.high))};
  }
  // The integer part of three times b / 256, minus 1.
  static WEFT_INLINE B trits(B b) { return {trits(b.low), trits(b.high)}; }
  static WEFT_INLINE __m128i trits(__m128i b) {
    const auto below = [&](int n) __attribute__((always_inline)) {
      const __m128i last = _mm_set1_epi8(static_cast<char>(n - 1));
      return _mm_cmpeq_epi8(_mm_min_epu8(b, last), b);
    };
    return _mm_add_epi8(_mm_set1_epi8(1), _mm_add_epi8(below(86), below(171)));
  }
  // 8 * b + addend.
  static WEFT_INLINE B eightfold(B b, B addend) {
    const __m128i top = _mm_set1_epi8(static_cast<char>(0xf8));
    return {_mm_add_epi8(_mm_and_si128(_mm_slli_epi16(b.low, 3), top), addend.low),
            _mm_add_epi8(_mm_and_si128(_mm_slli_epi16(b.high, 3), top), addend.high)};
  }
};

template <>
struct Quarters<Sse2> {
  using R = __m128;
  static WEFT_INLINE R low(R a, R b) { return _mm_unpacklo_ps(a, b); }
  static WEFT_INLINE R high(R a, R b) { return _mm_unpackhi_ps(a, b); }
  static WEFT_INLINE R low_pairs(R a, R b) { return _mm_shuffle_ps(a, b, 0x44); }
  static WEFT_INLINE R high_pairs(R a, R b) { return _mm_shuffle_ps(a, b, 0xee); }
};

template <>
struct QuantizedCodes<Sse2> {
  using V = Simd<Sse2>::V;

  // Rounded to nearest even and clamped to -127 .. 127; a NaN becomes -127.
  static WEFT_INLINE __m128i pack(const V* x) {
    const __m128i min_code = _mm_set1_epi16(-127), max_code = _mm_set1_epi16(127);
    const __m128i low = _mm_packs_epi32(_mm_cvtps_epi32(x[0]), _mm_cvtps_epi32(x[1]));
    const __m128i high = _mm_packs_epi32(_mm_cvtps_epi32(x[2]), _mm_cvtps_epi32(x[3]));
    return _mm_packs_epi16(_mm_max_epi16(_mm_min_epi16(low, max_code), min_code),
                           _mm_max_epi16(_mm_min_epi16(high, max_code), min_code));
  }
  // Writes codes; sums of the first and the second half.
  static WEFT_INLINE void store(const V (&x)[8], std::byte* out, std::int32_t (&sums)[2]) {
    for (int half = 0; half < 2; ++half) {
      const __m128i codes = pack(x + 4 * half);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * half), codes);
      sums[half] = sum(codes);
    }
  }
  // With an offset of 128, because there is only a sum of unsigned bytes.
  static WEFT_INLINE std::int32_t sum(__m128i codes) {
    const __m128i sums =
        _mm_sad_epu8(_mm_xor_si128(codes, _mm_set1_epi8(-128)), _mm_setzero_si128());
    return _mm_cvtsi128_si32(sums) + _mm_extract_epi16(sums, 4) - 16 * 128;
  }
  // Compared as bits: magnitudes of floats are ordered like integers, and a NaN is above all of
  // them.
  static WEFT_INLINE float largest_magnitude(const V (&x)[8]) {
    const __m128i magnitude = _mm_set1_epi32(0x7fffffff);
    __m128i m = _mm_setzero_si128();
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) m = max(m, _mm_and_si128(_mm_castps_si128(x[i]), magnitude));
    m = max(m, _mm_shuffle_epi32(m, 0x4e));
    return _mm_cvtss_f32(_mm_castsi128_ps(max(m, _mm_shuffle_epi32(m, 0xb1))));
  }
  static WEFT_INLINE __m128i max(__m128i a, __m128i b) {
    return Simd<Sse2>::choose(_mm_cmpgt_epi32(a, b), a, b);
  }
};

}  // namespace weft::cpu

#endif
