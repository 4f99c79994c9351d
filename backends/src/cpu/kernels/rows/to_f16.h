#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/isa_tags.h"

namespace weft::cpu {

// Converts n floats to f16, rounded to nearest even; y needs an alignment of 2 only.
template <class Arch>
struct ToF16 {
  static void run(const float* x, std::byte* y, std::int64_t n) noexcept;
};

}  // namespace weft::cpu
