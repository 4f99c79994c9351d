#pragma once
// Sigmoid and hyperbolic tangent of vectors of f32.

#include "cpu/simd/exp.inl.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct Hyperbolic {
  using V = typename Simd<Arch>::V;

  // 1 / (1 + exp(-x)), by exp(-|x|), which cannot overflow.
  static WEFT_INLINE V sigmoid(V x) {
    const V z = Exp<Arch>::of_negative(-xsimd::abs(x));
    return xsimd::select(x >= V(0.0f), V(1.0f), z) / (V(1.0f) + z);
  }

  // A polynomial near 0, where 1 - exp(-2 |x|) would cancel.
  static WEFT_INLINE V tanh(V x) {
    const V magnitude = xsimd::abs(x), square = x * x;
    V p(-5.70498872745e-3f);
    p = Simd<Arch>::fma(p, square, V(2.06390887954e-2f));
    p = Simd<Arch>::fma(p, square, V(-5.37397155531e-2f));
    p = Simd<Arch>::fma(p, square, V(1.33314422036e-1f));
    p = Simd<Arch>::fma(p, square, V(-3.33332819422e-1f));
    const V near = Simd<Arch>::fma(p * square, x, x);
    const V z = Exp<Arch>::of_negative(magnitude * V(-2.0f));
    const V far = (V(1.0f) - z) / (V(1.0f) + z);
    const V signed_far = xsimd::select(x < V(0.0f), -far, far);
    return xsimd::select(magnitude < V(0.625f), near, signed_far);
  }
};

}  // namespace weft::cpu
