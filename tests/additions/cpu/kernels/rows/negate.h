#pragma once

#include <cstdint>

#include "cpu/isa_tags.h"

namespace weft::cpu {

// y = -x over n floats; y may be x.
using NegateKernel = void (*)(const float* x, float* y, std::int64_t n) noexcept;

template <class Arch>
struct Negate {
  static NegateKernel run() noexcept;
};

}  // namespace weft::cpu
