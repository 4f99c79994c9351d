#pragma once
// Attention with integer products, for VNNI: what scores and values share. Caches are blocks of 32
// codes after a scale of 16 bits (Q8_0, Q4_0). Blocks of 64 cells always exist as a whole: cells
// after the last one are read, but their contents do not matter.

#include "cpu/kernels/attention_steps.inl.h"

namespace weft::cpu {

template <class Arch>
struct AttentionCodes {
  static constexpr std::int64_t kLanes = 16, kBlock = 32, kCells = AttentionKernels::kCells;

  // scale[b][s] for whole vectors of cells up to n; `cells` has room for whole blocks.
  template <class Cells>
  static WEFT_INLINE void all_scales(const std::byte* cells, std::int64_t cell, std::int64_t n,
                                     std::int64_t e, float* scale) {
    for (std::int64_t b = 0; b < e / kBlock; ++b) {
      const std::byte* block = cells + b * Cells::kBlockBytes;
      for (std::int64_t s = 0; s < n; s += kLanes)
        KeyQuads<Arch, Cells>::scales(block + s * cell, cell, 0)
            .store_aligned(scale + b * kCells + s);
    }
  }
};

}  // namespace weft::cpu
