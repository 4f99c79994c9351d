#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/isa_tags.h"

namespace weft::cpu {

// Blocks of 32 floats as blocks of Q8A, the bits of its scalar definition (ops/formats/q8a.h).
// Where a block holds a NaN or an infinity its scale is one.
template <class Arch>
struct Quantize {
  static void run(const float* x, std::byte* y, std::int64_t n_blocks) noexcept;
};

}  // namespace weft::cpu
