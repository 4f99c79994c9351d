#pragma once
// Weighted sums of values with integer products: lanes are elements, with two cells per lane. A
// cell's codes are multiplied by a weight of 16 bits: p times the scale of the cell's block,
// rounded to a multiple of the largest p times the largest scale of the row's cells, divided by
// 2^15 - 1. The products of all 64 cells are then exact.

#include "cpu/kernels/attention_quads.inl.h"

namespace weft::cpu {

template <class Arch, class Cells>
struct CodeValues {
  using Codes = AttentionCodes<Arch>;
  static constexpr std::int64_t kLanes = Codes::kLanes, kBlock = Codes::kBlock,
                                kCells = Codes::kCells;

  // Codes of 32 elements of the cells at a and b, side by side as 16 bits. v[0] holds the elements
  // 0 .. 7 and 16 .. 23, v[1] the others (in_order() of sums of them).
  static WEFT_INLINE void pairs(CellsQ8_0<Arch>, const std::byte* a, const std::byte* b,
                                __m512i (&v)[2]) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + 2)),
                  y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + 2));
    v[0] = _mm512_cvtepi8_epi16(_mm256_unpacklo_epi8(x, y));
    v[1] = _mm512_cvtepi8_epi16(_mm256_unpackhi_epi8(x, y));
  }
  static WEFT_INLINE void pairs(CellsQ4_0<Arch>, const std::byte* a, const std::byte* b,
                                __m512i (&v)[2]) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a + 2)),
                  y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + 2));
    const __m128i low = _mm_set1_epi8(15), offset = _mm_set1_epi8(8);
    const auto codes = [&](__m128i bits) __attribute__((always_inline)) {
      return _mm_sub_epi8(_mm_and_si128(bits, low), offset);
    };
    const __m256i u = _mm256_set_m128i(codes(_mm_srli_epi16(x, 4)), codes(x)),
                  w = _mm256_set_m128i(codes(_mm_srli_epi16(y, 4)), codes(y));
    v[0] = _mm512_cvtepi8_epi16(_mm256_unpacklo_epi8(u, w));
    v[1] = _mm512_cvtepi8_epi16(_mm256_unpackhi_epi8(u, w));
  }
  static WEFT_INLINE void in_order(__m512i (&v)[2]) {
    const __m512i first = _mm512_shuffle_i32x4(v[0], v[1], 0x44);
    v[1] = _mm512_shuffle_i32x4(v[0], v[1], 0xee);
    v[0] = first;
  }

  static void scales(const std::byte* v, std::int64_t cell, std::int64_t n, std::int64_t e,
                     float* scales) noexcept {
    Codes::template all_scales<Cells>(v, cell, n, e, scales);
  }

  // The weights of the codes of block b of a row's cells: p * scale / factor.
  struct Weights {
    alignas(64) std::int16_t w[kCells];
    float factor;
  };

  // The scales of the row's cells, normalized so that the largest is 2^15 - 1; zeros for other
  // cells.
  struct Relative {
    __m512 scale[kCells / kLanes];
    float factor;  // of the scales

    WEFT_INLINE Relative(const float* scales, std::int64_t begin, std::int64_t end) {
      const std::uint64_t seen = end == 0 ? 0 : ~0ull >> (kCells - end) & ~0ull << begin;
      __m512i largest = _mm512_setzero_si512();  // as bits: NaNs lie above all numbers
#pragma GCC unroll 4
      for (int i = 0; i < kCells / kLanes; ++i) {
        const auto mask = static_cast<__mmask16>(seen >> i * kLanes);
        scale[i] = _mm512_maskz_loadu_ps(mask, scales + i * kLanes);
        largest = _mm512_max_epi32(largest, _mm512_castps_si512(_mm512_abs_ps(scale[i])));
      }
      const int bits = _mm512_reduce_max_epi32(largest);
      std::memcpy(&factor, &bits, 4);
      factor /= 32767;
      const __m512 inverse = _mm512_set1_ps(factor == 0 ? 0 : 1 / factor);
#pragma GCC unroll 4
      for (auto& s : scale) s = _mm512_mul_ps(s, inverse);
    }
  };

  static WEFT_INLINE void weigh(const Relative& relative, const float* p, float peak, Weights& to) {
    // A block that adds almost nothing is skipped before a reciprocal overflows.
    const bool adds = peak > AttentionCodeValues::kMinPeak;
    const __m512 up = _mm512_set1_ps(adds ? 1 / peak : 0);
    to.factor = (adds ? peak : 0) * relative.factor;  // a NaN stays one
#pragma GCC unroll 4
    for (int i = 0; i < kCells / kLanes; ++i) {
      const __m512 share = _mm512_mul_ps(_mm512_load_ps(p + i * kLanes), up);
      const __m512i w = _mm512_cvtps_epi32(_mm512_mul_ps(share, relative.scale[i]));
      _mm256_store_si256(reinterpret_cast<__m256i*>(to.w + i * kLanes), _mm512_cvtepi32_epi16(w));
    }
  }

  static void add(const AttentionCodeValues& a, int n_rows, AttentionAhead& ahead) noexcept {
    add_rows<AttentionRows<Arch>::kMaxRows>(a, n_rows, ahead);
  }
  template <int R>
  static WEFT_INLINE void add_rows(const AttentionCodeValues& a, int n_rows,
                                   AttentionAhead& ahead) {
    if (n_rows == R) return add_rows<R>(a, ahead);
    if constexpr (R > 1) add_rows<R - 1>(a, n_rows, ahead);
  }

  template <int R>
  static __attribute__((noinline)) void add_rows(const AttentionCodeValues& a,
                                                 AttentionAhead& ahead) {
    std::int64_t end = 0;
    for (int r = 0; r < R; ++r) end = a.end[r] > end ? a.end[r] : end;
    for (std::int64_t b = 0; b < a.e / kBlock; ++b) {
      Weights weights[R];
      const float* scales = a.scales + b * kCells;
      for (int r = 0; r < R;) {
        const Relative relative(scales, a.begin, a.end[r]);
        const std::int64_t same = a.end[r];
        for (; r < R && a.end[r] == same; ++r)
          weigh(relative, a.p + r * kCells, a.peaks[r], weights[r]);
      }
      __m512i sums[R][2];
      dots<R>(a, b, end, weights, sums, ahead);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        in_order(sums[r]);
        float* y = a.y + r * a.width + b * kBlock;
#pragma GCC unroll 2
        for (int i = 0; i < 2; ++i, y += kLanes) {
          const __m512 before = _mm512_mul_ps(_mm512_load_ps(y), _mm512_set1_ps(a.rescale[r]));
          _mm512_store_ps(y, _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums[r][i]),
                                             _mm512_set1_ps(weights[r].factor), before));
        }
      }
    }
  }

  template <int R>
  static WEFT_INLINE void dots(const AttentionCodeValues& a, std::int64_t b, std::int64_t end,
                               const Weights (&weights)[R], __m512i (&sums)[R][2],
                               AttentionAhead& ahead) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) sums[r][0] = sums[r][1] = _mm512_setzero_si512();
    std::int64_t s = a.begin / 2 * 2;
    const std::byte* v = a.v + s * a.cell + b * Cells::kBlockBytes;
    for (; s < end; s += 2, v += 2 * a.cell) {
      if (s % 16 == 0) ahead.fetch();
      __m512i codes[2];
      pairs(Cells(), v, v + a.cell, codes);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        std::int32_t pair;
        std::memcpy(&pair, weights[r].w + s, 4);
        const __m512i w = _mm512_set1_epi32(pair);
        sums[r][0] = _mm512_dpwssd_epi32(sums[r][0], codes[0], w);
        sums[r][1] = _mm512_dpwssd_epi32(sums[r][1], codes[1], w);
        asm("" : "+v"(sums[r][0]), "+v"(sums[r][1]));  // or the compiler copies them at every step
      }
    }
  }
};

}  // namespace weft::cpu
