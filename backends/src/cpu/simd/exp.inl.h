#pragma once
// exp and exp - 1 for arguments that are at most 0.

#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct Exp {
  using V = typename Simd<Arch>::V;

  // exp(x) to 2 ulp for x <= 0; exactly 1 at 0, exactly 0 below -88 (never subnormal), NaN for NaN.
  static WEFT_INLINE V of_negative(V x) {
    const Parts parts(x);
    return (parts.minus_1 + V(1.0f)) * parts.power;
  }

  // exp(x) - 1 to 2 ulp for x <= 0, also near 0; NaN for NaN.
  static WEFT_INLINE V minus_1_of_negative(V x) {
    const Parts parts(x);
    return Simd<Arch>::fma(parts.minus_1, parts.power, parts.power - V(1.0f));
  }

 private:
  // x = n ln 2 + r: exp(r) - 1 by a polynomial, 2^n by its exponent bits.
  struct Parts {
    V minus_1, power;

    explicit WEFT_INLINE Parts(V x) {
      // 1.5 * 2^23 + 127: the sum is rounded to whole numbers, its low bits are n + 127.
      const V magic(12583039.0f);
      x = xsimd::max(V(-88.0f), x);  // keeps a NaN: x86 returns the second operand if one is a NaN
      const V t = Simd<Arch>::fma(x, V(1.44269504f), magic);
      const V n = t - magic;
      const V r = Simd<Arch>::fma(n, V(2.12194440e-4f), Simd<Arch>::fma(n, V(-0.693359375f), x));
      V p(1.3997796e-3f);  // the remainder of (exp(r) - 1 - r) / r^2
      p = Simd<Arch>::fma(p, r, V(8.3955629e-3f));
      p = Simd<Arch>::fma(p, r, V(4.1665401e-2f));
      p = Simd<Arch>::fma(p, r, V(1.6666277e-1f));
      p = Simd<Arch>::fma(p, r, V(0.5f));
      minus_1 = Simd<Arch>::fma(p, r * r, r);
      power = Simd<Arch>::low_bits_to_exponent(t);
    }
  };
};

}  // namespace weft::cpu
