#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/isa_tags.h"

namespace weft::cpu {

// Encodes n floats, a multiple of 32, as blocks of a quantized type, with the bits of the scalar
// definition (ops/formats); y need not be aligned. Floats should be finite: others give an
// unspecified block, but never a fault.
struct ToBlocksKernels {
  using Encode = void (*)(const float* x, std::byte* y, std::int64_t n) noexcept;
  Encode q8_0 = nullptr, q5_1 = nullptr, q5_0 = nullptr, q4_1 = nullptr, q4_0 = nullptr;
};

template <class Arch>
struct ToBlocks {
  static ToBlocksKernels run() noexcept;
};

}  // namespace weft::cpu
