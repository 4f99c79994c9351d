#pragma once
// Includes the traits of all instruction sets that the compiler's flags allow, and adds helpers.

#include "cpu/simd/primary.inl.h"
#include "cpu/simd_traits.h"

namespace weft::cpu {

// Partial vectors, for the ends of rows. Computations on them give the same bits as on whole
// vectors.
template <class Arch>
struct Part {
  using V = typename Simd<Arch>::V;
  static constexpr int kLanes = Simd<Arch>::kLanes;

  // n <= kLanes floats, followed by zeros.
  static WEFT_INLINE V load(const float* p, std::int64_t n) { return Simd<Arch>::load_part(p, n); }
  static WEFT_INLINE void store(V v, float* p, std::int64_t n) { Simd<Arch>::store_part(v, p, n); }
  // f(V of the elements from i on) -> V, for all i.
  template <class F>
  static WEFT_INLINE void map(std::int64_t n, const float* x, float* y, F f) {
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) f(V::load_unaligned(x + i)).store_unaligned(y + i);
    if (i < n) store(f(load(x + i, n - i)), y + i, n - i);
  }
  template <class F>
  static WEFT_INLINE void map2(std::int64_t n, const float* a, const float* b, float* y, F f) {
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      f(V::load_unaligned(a + i), V::load_unaligned(b + i)).store_unaligned(y + i);
    if (i < n) store(f(load(a + i, n - i), load(b + i, n - i)), y + i, n - i);
  }
};

}  // namespace weft::cpu
