#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/isa_tags.h"

namespace weft::cpu {

// n floats as halves, rounded to nearest even; y has no alignment beyond 2.
template <class Arch>
struct ToF16 {
  static void run(const float* x, std::byte* y, std::int64_t n) noexcept;
};

}  // namespace weft::cpu
