#pragma once
// Codes of two cells of a quantized cache, times a weight of 16 bits for each cell:
//   kElements                    of a block of 32, at a time
//   load(Cells, a, b, first)     codes of the block at a and at b, from element `first` on
//   add(sums, codes, weights)    32-bit sums; the first cell's weight is in the low 16 bits
//   in_order(sums, words)        the sums in the order of the elements, 16 in each Words

#include "cpu/kernels/attention/attention_cells.inl.h"
#include "cpu/simd/simd.inl.h"

#ifdef __AVX2__

namespace weft::cpu {

template <class Arch>
struct CodePairs {
  using Words = typename Sixteen<Arch>::Words;
  static constexpr int kElements = 16;
  struct Codes {
    __m256i low, high;  // a word of two 16-bit codes for each of 8 elements
  };
  using Sums = Codes;

  static WEFT_INLINE Codes side_by_side(__m128i x, __m128i y) {
    return {_mm256_cvtepi8_epi16(_mm_unpacklo_epi8(x, y)),
            _mm256_cvtepi8_epi16(_mm_unpackhi_epi8(x, y))};
  }
  static WEFT_INLINE __m128i load128(const std::byte* p) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  }
  static WEFT_INLINE Codes load(CellsQ8_0<Arch>, const std::byte* a, const std::byte* b,
                                int first) {
    return side_by_side(load128(a + 2 + first), load128(b + 2 + first));
  }
  static WEFT_INLINE Codes load(CellsQ4_0<Arch>, const std::byte* a, const std::byte* b,
                                int first) {
    const auto codes = [&](const std::byte* p) __attribute__((always_inline)) {
      const __m128i all = load128(p + 2), moved = first == 0 ? all : _mm_srli_epi16(all, 4);
      return _mm_sub_epi8(_mm_and_si128(moved, _mm_set1_epi8(15)), _mm_set1_epi8(8));
    };
    return side_by_side(codes(a), codes(b));
  }
  static WEFT_INLINE Codes load(CellsQ5_0<Arch>, const std::byte* a, const std::byte* b,
                                int first) {
    const auto codes = [&](const std::byte* p) __attribute__((always_inline)) {
      const __m256i all = CellsQ5_0<Arch>::codes(p).v;
      return first == 0 ? _mm256_castsi256_si128(all) : _mm256_extracti128_si256(all, 1);
    };
    return side_by_side(codes(a), codes(b));
  }
  static WEFT_INLINE Sums zero() { return {_mm256_setzero_si256(), _mm256_setzero_si256()}; }
  static WEFT_INLINE void add(Sums& sums, Codes codes, std::int32_t weights) {
    const __m256i w = _mm256_set1_epi32(weights);
    sums.low = add(sums.low, codes.low, w);
    sums.high = add(sums.high, codes.high, w);
    asm("" : "+x"(sums.low), "+x"(sums.high));  // or the compiler copies them at every step
  }
  static WEFT_INLINE __m256i add(__m256i sum, __m256i codes, __m256i w) {
#ifdef __AVXVNNI__
    return _mm256_dpwssd_avx_epi32(sum, codes, w);
#else
    return _mm256_add_epi32(sum, _mm256_madd_epi16(codes, w));
#endif
  }
  static WEFT_INLINE void in_order(Sums sums, Words (&out)[1]) {
    out[0] = Sixteen<Arch>::joined(sums.low, sums.high);
  }
};

#ifdef __AVX512BW__
template <class Arch>
requires(Simd<Arch>::kLanes == 16) struct CodePairs<Arch> {
  static constexpr int kElements = 32;
  struct Codes {
    __m512i v[2];  // elements 0 .. 7 and 16 .. 23, and the others
  };
  using Sums = Codes;

  static WEFT_INLINE Codes side_by_side(__m256i x, __m256i y) {
    return {{_mm512_cvtepi8_epi16(_mm256_unpacklo_epi8(x, y)),
             _mm512_cvtepi8_epi16(_mm256_unpackhi_epi8(x, y))}};
  }
  static WEFT_INLINE Codes load(CellsQ8_0<Arch>, const std::byte* a, const std::byte* b, int) {
    return side_by_side(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + 2)),
                        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + 2)));
  }
  static WEFT_INLINE Codes load(CellsQ4_0<Arch>, const std::byte* a, const std::byte* b, int) {
    const __m128i low = _mm_set1_epi8(15), offset = _mm_set1_epi8(8);
    const auto codes = [&](const std::byte* p) __attribute__((always_inline)) {
      const __m128i all = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 2));
      return _mm256_set_m128i(_mm_sub_epi8(_mm_and_si128(_mm_srli_epi16(all, 4), low), offset),
                              _mm_sub_epi8(_mm_and_si128(all, low), offset));
    };
    return side_by_side(codes(a), codes(b));
  }
  static WEFT_INLINE Codes load(CellsQ5_0<Arch>, const std::byte* a, const std::byte* b, int) {
    return side_by_side(CellsQ5_0<Arch>::codes(a).v, CellsQ5_0<Arch>::codes(b).v);
  }
  static WEFT_INLINE Sums zero() { return {{_mm512_setzero_si512(), _mm512_setzero_si512()}}; }
  static WEFT_INLINE void add(Sums& sums, Codes codes, std::int32_t weights) {
    const __m512i w = _mm512_set1_epi32(weights);
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) sums.v[i] = add(sums.v[i], codes.v[i], w);
    asm("" : "+v"(sums.v[0]), "+v"(sums.v[1]));  // or the compiler copies them at every step
  }
  static WEFT_INLINE __m512i add(__m512i sum, __m512i codes, __m512i w) {
#ifdef __AVX512VNNI__
    return _mm512_dpwssd_epi32(sum, codes, w);
#else
    return _mm512_add_epi32(sum, _mm512_madd_epi16(codes, w));
#endif
  }
  static WEFT_INLINE void in_order(const Sums& sums, __m512i (&out)[2]) {
    out[0] = _mm512_shuffle_i32x4(sums.v[0], sums.v[1], 0x44);
    out[1] = _mm512_shuffle_i32x4(sums.v[0], sums.v[1], 0xee);
  }
};
#endif

}  // namespace weft::cpu

#endif

#ifdef __ARM_NEON

namespace weft::cpu {

template <class Arch>
struct CodePairs {
  using Words = typename Sixteen<Arch>::Words;
  static constexpr int kElements = 16;
  struct Codes {
    int16x8_t a[2], b[2];  // codes of the two cells
  };
  struct Sums {
    int32x4_t v[4];
  };

  static WEFT_INLINE Codes widened(int8x16_t x, int8x16_t y) {
    return {{vmovl_s8(vget_low_s8(x)), vmovl_high_s8(x)},
            {vmovl_s8(vget_low_s8(y)), vmovl_high_s8(y)}};
  }
  static WEFT_INLINE Codes load(CellsQ8_0<Arch>, const std::byte* a, const std::byte* b,
                                int first) {
    return widened(vreinterpretq_s8_u8(Bytes<Arch>::load16(a + 2 + first)),
                   vreinterpretq_s8_u8(Bytes<Arch>::load16(b + 2 + first)));
  }
  static WEFT_INLINE Codes load(CellsQ4_0<Arch>, const std::byte* a, const std::byte* b,
                                int first) {
    const auto codes = [&](const std::byte* p) __attribute__((always_inline)) {
      const uint8x16_t all = Bytes<Arch>::load16(p + 2);
      const uint8x16_t nibbles = first == 0 ? vandq_u8(all, vdupq_n_u8(15)) : vshrq_n_u8(all, 4);
      return vsubq_s8(vreinterpretq_s8_u8(nibbles), vdupq_n_s8(8));
    };
    return widened(codes(a), codes(b));
  }
  static WEFT_INLINE Codes load(CellsQ5_0<Arch>, const std::byte* a, const std::byte* b,
                                int first) {
    const auto codes = [&](const std::byte* p) __attribute__((always_inline)) {
      const Bytes<Arch> all = CellsQ5_0<Arch>::codes(p);
      return vreinterpretq_s8_u8(first == 0 ? all.low : all.high);
    };
    return widened(codes(a), codes(b));
  }
  static WEFT_INLINE Sums zero() {
    const int32x4_t none = vdupq_n_s32(0);
    return {{none, none, none, none}};
  }
  static WEFT_INLINE void add(Sums& sums, Codes codes, std::int32_t weights) {
    const int16x4_t w = vreinterpret_s16_s32(vdup_n_s32(weights));
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      int32x4_t &low = sums.v[2 * i], &high = sums.v[2 * i + 1];
      low = vmlal_lane_s16(low, vget_low_s16(codes.a[i]), w, 0);
      high = vmlal_high_lane_s16(high, codes.a[i], w, 0);
      low = vmlal_lane_s16(low, vget_low_s16(codes.b[i]), w, 1);
      high = vmlal_high_lane_s16(high, codes.b[i], w, 1);
    }
  }
  static WEFT_INLINE void in_order(const Sums& sums, Words (&out)[1]) {
    out[0] = {vreinterpretq_u32_s32(sums.v[0]), vreinterpretq_u32_s32(sums.v[1]),
              vreinterpretq_u32_s32(sums.v[2]), vreinterpretq_u32_s32(sums.v[3])};
  }
};

}  // namespace weft::cpu

#endif
