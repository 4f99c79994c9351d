#pragma once
// Vectors of 16 floats on every instruction set. Sums across the elements of a row are computed in
// these lanes and added up by one tree, so that all sets with fused multiply-add give the same
// bits.

#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct Wide {
  using V = typename Simd<Arch>::V;
  static constexpr int kLanes = Simd<Arch>::kLanes, kParts = 16 / kLanes;

  V part[kParts];

  // f(i) is the V of the lanes from i on.
  template <class F>
  static WEFT_INLINE Wide of(F f) {
    Wide wide;
#pragma GCC unroll 4
    for (int i = 0; i < kParts; ++i) wide.part[i] = f(i * kLanes);
    return wide;
  }
  static WEFT_INLINE Wide zero() {
    return of([](int) __attribute__((always_inline)) { return V(0.0f); });
  }
  static WEFT_INLINE Wide load(const float* p) {
    return of([=](int i) __attribute__((always_inline)) { return V::load_unaligned(p + i); });
  }
  // n < 16 floats, followed by zeros.
  static WEFT_INLINE Wide load(const float* p, std::int64_t n) {
    return of([=](int i) __attribute__((always_inline)) { return part_of(p, i, n); });
  }
  static WEFT_INLINE V part_of(const float* p, std::int64_t i, std::int64_t n) {
    if (n >= i + kLanes) return V::load_unaligned(p + i);
    return n > i ? Part<Arch>::load(p + i, n - i) : V(0.0f);
  }
  WEFT_INLINE void store(float* p) const {
#pragma GCC unroll 4
    for (int i = 0; i < kParts; ++i) part[i].store_unaligned(p + i * kLanes);
  }

  // a * b + this
  WEFT_INLINE Wide plus(const Wide& a, const Wide& b) const {
    return of([&](int i) __attribute__((always_inline)) {
      return Simd<Arch>::fma(a.part[i / kLanes], b.part[i / kLanes], part[i / kLanes]);
    });
  }
  WEFT_INLINE Wide operator+(const Wide& b) const {
    return of([&](int i)
                  __attribute__((always_inline)) { return part[i / kLanes] + b.part[i / kLanes]; });
  }
  WEFT_INLINE Wide operator*(const Wide& b) const {
    return of([&](int i)
                  __attribute__((always_inline)) { return part[i / kLanes] * b.part[i / kLanes]; });
  }
  WEFT_INLINE Wide operator*(V factor) const {
    return of([&](int i) __attribute__((always_inline)) { return part[i / kLanes] * factor; });
  }
  // The lanes i and i + 8 are added first, then i and i + 4, and so on.
  WEFT_INLINE float sum() const {
    if constexpr (kParts == 1) return Simd<Arch>::sum(part[0]);
    if constexpr (kParts == 2) return Simd<Arch>::sum(part[0] + part[1]);
    if constexpr (kParts == 4) return Simd<Arch>::sum((part[0] + part[2]) + (part[1] + part[3]));
  }
};

}  // namespace weft::cpu
