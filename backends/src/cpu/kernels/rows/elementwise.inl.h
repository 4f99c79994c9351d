#pragma once

#include "cpu/kernels/rows/elementwise.h"
#include "cpu/simd/silu.inl.h"

namespace weft::cpu {

template <class Arch>
struct ElementwiseFunctions {
  using V = typename Simd<Arch>::V;
  using P = Part<Arch>;
  static constexpr int kLanes = Simd<Arch>::kLanes;

  static void add(const float* a, const float* b, float* y, std::int64_t n) noexcept {
    P::map2(
        n, a, b, y, [](V u, V v) __attribute__((always_inline)) { return u + v; });
  }
  static void mul(const float* a, const float* b, float* y, std::int64_t n) noexcept {
    P::map2(
        n, a, b, y, [](V u, V v) __attribute__((always_inline)) { return u * v; });
  }
  static void lerp(const float* a, const float* b, const float* w, float* y,
                   std::int64_t n) noexcept {
    for (std::int64_t i = 0; i < n; i += kLanes) {
      const std::int64_t m = n - i < kLanes ? n - i : kLanes;
      const V u = P::load(a + i, m), v = P::load(b + i, m);
      P::store(Simd<Arch>::fma(v - u, P::load(w + i, m), u), y + i, m);
    }
  }
  static void silu_mul(const float* a, const float* b, float* y, std::int64_t n) noexcept {
    P::map2(
        n, a, b, y, [](V u, V v) __attribute__((always_inline)) { return Silu<Arch>::of(u) * v; });
  }
  static void silu(const float* x, float* y, std::int64_t n) noexcept {
    P::map(
        n, x, y, [](V v) __attribute__((always_inline)) { return Silu<Arch>::of(v); });
  }
  static void scale(const float* x, float factor, float* y, std::int64_t n) noexcept {
    P::map(
        n, x, y, [=](V v) __attribute__((always_inline)) { return v * V(factor); });
  }
};

template <class Arch>
ElementwiseKernels Elementwise<Arch>::run() noexcept {
  using F = ElementwiseFunctions<Arch>;
  return {.add = &F::add,
          .mul = &F::mul,
          .lerp = &F::lerp,
          .silu_mul = &F::silu_mul,
          .silu = &F::silu,
          .scale = &F::scale};
}

}  // namespace weft::cpu
