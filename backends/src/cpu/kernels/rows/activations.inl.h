#pragma once

#include "cpu/kernels/rows/activations.h"
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
  static void exp(const float* x, float* y, std::int64_t n) noexcept {
    P::map(
        n, x, y, [](V v) __attribute__((always_inline)) { return Exp<Arch>::of(v); });
  }
  static void sigmoid(const float* x, float* y, std::int64_t n) noexcept {
    P::map(
        n, x, y, [](V v) __attribute__((always_inline)) { return H::sigmoid(v); });
  }
  static void sqrt(const float* x, float* y, std::int64_t n) noexcept {
    P::map(
        n, x, y, [](V v) __attribute__((always_inline)) { return xsimd::sqrt(v); });
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
  // x times the share of the normal distribution below x.
  static void gelu_erf(const float* x, float* y, std::int64_t n) noexcept {
    P::map(
        n, x, y, [](V v) __attribute__((always_inline)) {
          const V half = half_erfc(xsimd::abs(v) * V(0.70710678f));
          return v * xsimd::select(v > V(0.0f), V(1.0f) - half, half);
        });
  }
  // One of the two sides is selected: for x > 0 the exponential is that of 0.
  static void xielu(const float* x, const Xielu& a, float* y, std::int64_t n) noexcept {
    const V positive(a.positive), negative(a.negative), beta(a.beta), limit(a.limit), zero(0.0f);
    P::map(
        n, x, y, [&](V v) __attribute__((always_inline)) {
          const V e = Exp<Arch>::minus_1_of_negative(xsimd::min(zero, xsimd::min(limit, v)));
          const V above = v * Simd<Arch>::fma(positive, v, beta);
          const V below = Simd<Arch>::fma(negative, e - v, beta * v);
          return xsimd::select(v > zero, above, below);
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
  // (1 - erf(z)) / 2 for z >= 0, with an error below 8e-8: formula 7.1.26 of Abramowitz and Stegun
  // 1964, Handbook of Mathematical Functions, with halved coefficients.
  static WEFT_INLINE V half_erfc(V z) {
    const V t = V(1.0f) / Simd<Arch>::fma(V(0.3275911f), z, V(1.0f));
    V p(0.5307027145f);
    p = Simd<Arch>::fma(p, t, V(-0.7265760135f));
    p = Simd<Arch>::fma(p, t, V(0.7107068705f));
    p = Simd<Arch>::fma(p, t, V(-0.142248368f));
    p = Simd<Arch>::fma(p, t, V(0.127414796f));
    return p * t * Exp<Arch>::of_negative(-(z * z));
  }

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
  return {.exp = &F::exp,
          .gelu = &F::gelu,
          .gelu_erf = &F::gelu_erf,
          .relu = &F::relu,
          .sigmoid = &F::sigmoid,
          .softplus = &F::softplus,
          .sqrt = &F::sqrt,
          .tanh = &F::tanh,
          .xielu = &F::xielu,
          .clamp = &F::clamp};
}

}  // namespace weft::cpu
