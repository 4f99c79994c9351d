#pragma once

#include "cpu/kernels/rows/negate.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct NegateFunctions {
  using V = typename Simd<Arch>::V;
  static void negate(const float* x, float* y, std::int64_t n) noexcept {
    Part<Arch>::map(
        n, x, y, [](V v) __attribute__((always_inline)) { return -v; });
  }
};

template <class Arch>
NegateKernel Negate<Arch>::run() noexcept {
  return &NegateFunctions<Arch>::negate;
}

}  // namespace weft::cpu
