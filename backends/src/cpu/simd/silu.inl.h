#pragma once

#include "cpu/simd/exp.inl.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

// The one formula of silu: ops that include it give the same bits as silu after them.
template <class Arch>
struct Silu {
  using V = typename Simd<Arch>::V;
  static WEFT_INLINE V of(V x) { return x / (V(1.0f) + Exp<Arch>::of(-x)); }
};

}  // namespace weft::cpu
