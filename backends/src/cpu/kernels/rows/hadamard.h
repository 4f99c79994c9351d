#pragma once

#include <cstdint>

#include "cpu/isa_tags.h"

namespace weft::cpu {

// The same part of some heads of one token (ops/rows/hadamard.h).
struct HadamardArgs {
  const float* x = nullptr;  // the part of the first head; that of the next one is `e` floats on
  float* y = nullptr;        // likewise, may be x
  std::int64_t n_heads = 0, e = 0, n = 0;  // n: elements of the part, a power of two
  float factor = 1;
};

template <class Arch>
struct Hadamard {
  using Run = void (*)(const HadamardArgs& args) noexcept;
  static Run run() noexcept;
};

}  // namespace weft::cpu
