#pragma once
// Attention in whole numbers, for VNNI: what scores and values share. Caches are blocks of 32 codes
// behind a scale of 16 bits (Q8_0, Q4_0), and blocks of 64 cells are there as a whole: cells behind
// the last one are read, and what they hold is taken for nothing.

#include "cpu/kernels/attention_steps.inl.h"

namespace weft::cpu {

template <class Arch>
struct AttentionCodes {
  static constexpr std::int64_t kLanes = 16, kBlock = 32, kCells = AttentionKernels::kCells;

  // The scales that the blocks of 16 cells begin with.
  static WEFT_INLINE __m512 scales(const std::byte* block, std::int64_t cell) {
    __m128i parts[4];
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c) {
      const std::byte* p = block + 4 * c * cell;
      const auto at = [&](int n) __attribute__((always_inline)) {
        return _mm_loadu_si32(p + n * cell);
      };
      parts[c] = _mm_mask_broadcastd_epi32(at(0), 2, at(1));
      parts[c] = _mm_mask_broadcastd_epi32(parts[c], 4, at(2));
      parts[c] = _mm_mask_broadcastd_epi32(parts[c], 8, at(3));
    }
    const __m512i all =
        _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_set_m128i(parts[1], parts[0])),
                           _mm256_set_m128i(parts[3], parts[2]), 1);
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(all));
  }
  // scale[b][s] for whole vectors of cells up to n; `cells` has room for whole blocks.
  template <class Cells>
  static WEFT_INLINE void all_scales(const std::byte* cells, std::int64_t cell, std::int64_t n,
                                     std::int64_t e, float* scale) {
    for (std::int64_t b = 0; b < e / kBlock; ++b) {
      const std::byte* block = cells + b * Cells::kBlockBytes;
      for (std::int64_t s = 0; s < n; s += kLanes)
        _mm512_store_ps(scale + b * kCells + s, scales(block + s * cell, cell));
    }
  }
};

}  // namespace weft::cpu
