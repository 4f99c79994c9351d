#pragma once
// 32 codes from tables: nibbles that stand for uneven values, points of a grid with 8 or 4
// coordinates of one byte, and signs for them, one bit each (ops/formats/iq_grids.h).

#include "weft/ops/formats/iq_grids.h"

#include "cpu/simd/bytes.inl.h"

namespace weft::cpu {

template <class Arch>
struct Signs {
  // Four times 7 bits, the lowest ones first, as 32: the eighth makes every byte's number even.
  static WEFT_INLINE std::uint32_t even(std::uint32_t bits) {
    const std::uint32_t s = (bits & 0x7fu) | (bits << 1 & 0x7f00u) | (bits << 2 & 0x7f0000u) |
                            (bits << 3 & 0x7f000000u);
    std::uint32_t odd = s ^ s >> 4;
    odd ^= odd >> 2;
    odd ^= odd >> 1;
    return s | (odd & 0x01010101u) << 7;
  }
};

// What nibbles stand for, plus an offset: eight of them as bytes of a word.
template <class Arch>
struct Sixteens {
  static constexpr long long word(std::size_t first, int offset) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < 8; ++i) {
      const auto byte = static_cast<std::uint8_t>(kIQ4Values[first + i] + offset);
      word |= std::uint64_t{byte} << 8 * i;
    }
    return static_cast<long long>(word);
  }
  template <int kOffset>
  static WEFT_INLINE __m128i table() {
    constexpr long long kLow = word(0, kOffset), kHigh = word(8, kOffset);
    return _mm_set_epi64x(kHigh, kLow);
  }
};

template <class Arch>
struct Lookup;

template <>
struct Lookup<Sse2> {
  using B = Bytes<Sse2>;

  // There is no instruction for it.
  static WEFT_INLINE B sixteens(B nibbles) {
    alignas(16) std::uint8_t in[32];
    alignas(16) std::int8_t out[32];
    _mm_store_si128(reinterpret_cast<__m128i*>(in), nibbles.low);
    _mm_store_si128(reinterpret_cast<__m128i*>(in + 16), nibbles.high);
    for (int i = 0; i < 32; ++i) out[i] = kIQ4Values[in[i]];
    return B::load(reinterpret_cast<const std::byte*>(out));
  }
  // E2M1, doubled. A code's low bits are the number where they are below 5; 5, 6, 7 are 6, 8, 12.
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
  // The whole parts of three times b / 256, minus 1.
  static WEFT_INLINE B trits(B b) { return {trits(b.low), trits(b.high)}; }
  static WEFT_INLINE __m128i trits(__m128i b) {
    const auto below = [&](int n) __attribute__((always_inline)) {
      const __m128i most = _mm_set1_epi8(static_cast<char>(n - 1));
      return _mm_cmpeq_epi8(_mm_min_epu8(b, most), b);
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

#ifdef __AVX2__
template <class Arch>
struct Lookup {
  using B = Bytes<Arch>;

  static WEFT_INLINE B sixteens(B nibbles) {
    const __m128i table = Sixteens<Arch>::template table<0>();
    return {_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), nibbles.v)};
  }
  // E2M1, doubled.
  static WEFT_INLINE B e2m1(B nibbles) {
    const __m128i table = _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
    return {_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), nibbles.v)};
  }
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
    // Of four equal bytes, in turn: bits 0-1, 2-3, 4-5 and 6-7; the last two moved to the first's.
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
      const __m256i most = _mm256_set1_epi8(static_cast<char>(n - 1));
      return _mm256_cmpeq_epi8(_mm256_min_epu8(b.v, most), b.v);
    };
    return {_mm256_add_epi8(_mm256_set1_epi8(1), _mm256_add_epi8(below(86), below(171)))};
  }
  static WEFT_INLINE B eightfold(B b, B addend) {
    const __m256i top = _mm256_set1_epi8(static_cast<char>(0xf8));
    return {_mm256_add_epi8(_mm256_and_si256(_mm256_slli_epi16(b.v, 3), top), addend.v)};
  }
};
#endif

}  // namespace weft::cpu
