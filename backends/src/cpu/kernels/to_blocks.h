#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/isa_tags.h"

namespace weft::cpu {

// n floats, a multiple of 32, as blocks of a quantized type, the bits of its scalar definition
// (ops/formats); y has no alignment. Floats must be finite: what is not gives some block, never a
// fault.
struct ToBlocksKernels {
  void (*q8_0)(const float* x, std::byte* y, std::int64_t n) noexcept = nullptr;
  void (*q4_0)(const float* x, std::byte* y, std::int64_t n) noexcept = nullptr;
};

template <class Arch>
struct ToBlocks {
  static ToBlocksKernels run() noexcept;
};

}  // namespace weft::cpu
