#pragma once
// exp and exp - 1 to 2 ulp.

#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct Exp {
  using V = typename Simd<Arch>::V;

  // exp(x) for x <= 0; exactly 1 at 0, exactly 0 below -88 (never subnormal), NaN for NaN.
  // x = n ln 2 + r, exp(r) - 1 by a polynomial, 2^n by its exponent bits.
  static WEFT_INLINE V of_negative(V x) {
    x = xsimd::max(V(-88.0f), x);  // keeps a NaN: x86 returns the second operand if one is a NaN
    const V t = exponent(x);
    return (minus_1(x, t) + V(1.0f)) * Simd<Arch>::low_bits_to_exponent(t);
  }

  // exp(x) for any x; infinity if it overflows, the bits of of_negative for x <= 0.
  static WEFT_INLINE V of(V x) {
    x = xsimd::max(V(-88.0f), xsimd::min(V(128.0f), x));
    const V t = exponent(x);
    // An exponent above 127 has no bits: 2^128 is 2^127 times 2, and any more is infinite.
    const V capped = xsimd::min(V(kMagic + 127), t);
    const V power = Simd<Arch>::low_bits_to_exponent(capped);
    return (minus_1(x, t) + V(1.0f)) * power * (V(1.0f) + (t - capped));
  }

  // exp(x) - 1 for x <= 0, also near 0; NaN for NaN.
  static WEFT_INLINE V minus_1_of_negative(V x) {
    x = xsimd::max(V(-88.0f), x);
    const V t = exponent(x);
    const V power = Simd<Arch>::low_bits_to_exponent(t);
    return Simd<Arch>::fma(minus_1(x, t), power, power - V(1.0f));
  }

 private:
  // 1.5 * 2^23 + 127: a sum with it is rounded to whole numbers, its low bits are n + 127.
  static constexpr float kMagic = 12583039.0f;

  // n + kMagic, n the whole number next to x / ln 2.
  static WEFT_INLINE V exponent(V x) { return Simd<Arch>::fma(x, V(1.44269504f), V(kMagic)); }
  // exp(x - n ln 2) - 1.
  static WEFT_INLINE V minus_1(V x, V t) {
    const V n = t - V(kMagic);
    const V r = Simd<Arch>::fma(n, V(2.12194440e-4f), Simd<Arch>::fma(n, V(-0.693359375f), x));
    V p(1.3997796e-3f);  // the remainder of (exp(r) - 1 - r) / r^2
    p = Simd<Arch>::fma(p, r, V(8.3955629e-3f));
    p = Simd<Arch>::fma(p, r, V(4.1665401e-2f));
    p = Simd<Arch>::fma(p, r, V(1.6666277e-1f));
    p = Simd<Arch>::fma(p, r, V(0.5f));
    return Simd<Arch>::fma(p, r * r, r);
  }
};

}  // namespace weft::cpu
