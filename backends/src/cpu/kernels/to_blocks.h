#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/isa.h"

namespace weft::cpu {

// Floats as blocks of 32 of a quantized type, the bits of its scalar definition (ops/formats); y
// has no alignment. Floats must be finite: what is not gives some block, never a fault.
struct ToBlocksKernels {
  void (*q8_0)(const float* x, std::byte* y, std::int64_t n_blocks) noexcept = nullptr;
  void (*q4_0)(const float* x, std::byte* y, std::int64_t n_blocks) noexcept = nullptr;
};

template <class Arch>
struct ToBlocks {
  static ToBlocksKernels run() noexcept;
};

}  // namespace weft::cpu
