#pragma once

#include "cpu/kernels/activations.h"
#include "cpu/simd/hyperbolic.inl.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct ActivationFunctions {
  using V = typename Simd<Arch>::V;
  using P = Part<Arch>;
  using H = Hyperbolic<Arch>;

  // x86 returns the second operand of max and min if one is a NaN, so x comes second.
  static void relu(const float* x, float* y, std::int64_t n) noexcept {
    P::map(
        n, x, y, [](V v) __attribute__((always_inline)) { return xsimd::max(V(0.0f), v); });
  }
  static void clamp(const float* x, float low, float high, float* y, std::int64_t n) noexcept {
    P::map(
        n, x, y, [=](V v) __attribute__((always_inline)) {
          return xsimd::min(V(high), xsimd::max(V(low), v));
        });
  }
  static void sigmoid(const float* x, float* y, std::int64_t n) noexcept {
    P::map(
        n, x, y, [](V v) __attribute__((always_inline)) { return H::sigmoid(v); });
  }
  static void tanh(const float* x, float* y, std::int64_t n) noexcept {
    P::map(
        n, x, y, [](V v) __attribute__((always_inline)) { return H::tanh(v); });
  }
  // (1 + tanh(u)) / 2 is sigmoid(2 u).
  static void gelu(const float* x, float* y, std::int64_t n) noexcept {
    P::map(
        n, x, y, [](V v) __attribute__((always_inline)) {
          const V cubic = Simd<Arch>::fma(v * v * v, V(0.044715f), v);
          return v * H::sigmoid(cubic * V(1.5957691216f));  // 2 sqrt(2 / pi)
        });
  }
  static void softplus(const float* x, float* y, std::int64_t n) noexcept {
    P::map(
        n, x, y, [](V v) __attribute__((always_inline)) {
          const V z = Exp<Arch>::of_negative(-xsimd::abs(v));
          return xsimd::max(V(0.0f), v) + log_of_1_plus(z);
        });
  }

 private:
  // log(1 + z) for 0 <= z <= 1: 2 artanh(s) with s = z / (2 + z) <= 1 / 3.
  static WEFT_INLINE V log_of_1_plus(V z) {
    const V s = z / (z + V(2.0f)), square = s * s;
    V p(1.0f / 15);
    p = Simd<Arch>::fma(p, square, V(1.0f / 13));
    p = Simd<Arch>::fma(p, square, V(1.0f / 11));
    p = Simd<Arch>::fma(p, square, V(1.0f / 9));
    p = Simd<Arch>::fma(p, square, V(1.0f / 7));
    p = Simd<Arch>::fma(p, square, V(1.0f / 5));
    p = Simd<Arch>::fma(p, square, V(1.0f / 3));
    const V twice = s + s;
    return Simd<Arch>::fma(p * square, twice, twice);
  }
};

template <class Arch>
ActivationKernels Activations<Arch>::run() noexcept {
  using F = ActivationFunctions<Arch>;
  return {.gelu = &F::gelu,
          .relu = &F::relu,
          .sigmoid = &F::sigmoid,
          .softplus = &F::softplus,
          .tanh = &F::tanh,
          .clamp = &F::clamp};
}

}  // namespace weft::cpu
