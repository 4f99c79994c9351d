#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/isa_tags.h"

namespace weft::cpu {

// Encodes blocks of 32 floats as Q8A, with the bits of the scalar definition (ops/formats/q8a.h).
// A block with a NaN or an infinity gets that as its scale.
template <class Arch>
struct Quantize {
  static void run(const float* x, std::byte* y, std::int64_t n_blocks) noexcept;
};

}  // namespace weft::cpu
