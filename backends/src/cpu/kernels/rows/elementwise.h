#pragma once

#include <cstdint>

#include "cpu/isa_tags.h"

namespace weft::cpu {

// Over n floats; y may be one of the operands.
struct ElementwiseKernels {
  void (*add)(const float* a, const float* b, float* y, std::int64_t n) noexcept = nullptr;
  void (*mul)(const float* a, const float* b, float* y, std::int64_t n) noexcept = nullptr;
  void (*lerp)(const float* a, const float* b, const float* w, float* y,
               std::int64_t n) noexcept = nullptr;  // a + (b - a) * w
  void (*silu_mul)(const float* a, const float* b, float* y,
                   std::int64_t n) noexcept = nullptr;  // silu(a) * b
  void (*silu)(const float* x, float* y, std::int64_t n) noexcept = nullptr;
  void (*scale)(const float* x, float factor, float* y, std::int64_t n) noexcept = nullptr;
};

template <class Arch>
struct Elementwise {
  static ElementwiseKernels run() noexcept;
};

}  // namespace weft::cpu
