#pragma once

#include <cstdint>

#include "cpu/isa_tags.h"

namespace weft::cpu {

// The attributes of xielu (ops/elementwise/xielu.h).
struct Xielu {
  float positive = 0, negative = 0, beta = 0, limit = 0;
};

// Over n floats; y may be x. Special values as in the scalar definitions (ops/src).
struct ActivationKernels {
  using Fn = void (*)(const float* x, float* y, std::int64_t n) noexcept;
  Fn exp = nullptr, gelu = nullptr, gelu_erf = nullptr, relu = nullptr, sigmoid = nullptr,
     softplus = nullptr, sqrt = nullptr, tanh = nullptr;
  void (*xielu)(const float* x, const Xielu& attrs, float* y, std::int64_t n) noexcept = nullptr;
  void (*clamp)(const float* x, float low, float high, float* y, std::int64_t n) noexcept = nullptr;
};

template <class Arch>
struct Activations {
  static ActivationKernels run() noexcept;
};

}  // namespace weft::cpu
