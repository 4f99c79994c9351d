#pragma once

#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

// Vectors of kLanes floats, or parts of n of them.
template <class Arch, bool kPart>
struct MaybePart {
  using V = typename Simd<Arch>::V;
  static WEFT_INLINE V load(const float* p, std::int64_t n) {
    if constexpr (kPart) return Part<Arch>::load(p, n);
    return V::load_unaligned(p);
  }
  static WEFT_INLINE void store(V v, float* p, std::int64_t n) {
    if constexpr (kPart) return Part<Arch>::store(v, p, n);
    v.store_unaligned(p);
  }
};

}  // namespace weft::cpu
