#pragma once

#include "cpu/kernels/rope.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct RopeFunctions {
  using V = typename Simd<Arch>::V;
  using P = Part<Arch>;
  static constexpr int kLanes = Simd<Arch>::kLanes;

  static WEFT_INLINE V rotate(V x, V cos, V sin) {
    return xsimd::fma(x, cos, Simd<Arch>::swap_pairs(x) * sin);
  }

  static void adjacent(const float* x, const float* cos, const float* sin, float* y,
                       std::int64_t n_rot) noexcept {
    std::int64_t i = 0;
    for (; i + kLanes <= n_rot; i += kLanes) {
      rotate(V::load_unaligned(x + i), V::load_unaligned(cos + i), V::load_unaligned(sin + i))
          .store_unaligned(y + i);
    }
    const std::int64_t rest = n_rot - i;
    if (rest > 0)
      P::store(rotate(P::load(x + i, rest), P::load(cos + i, rest), P::load(sin + i, rest)), y + i,
               rest);
  }

  static void halves(const float* x, const float* cos, const float* sin, float* y,
                     std::int64_t n_rot) noexcept {
    const std::int64_t half = n_rot / 2;
    std::int64_t i = 0;
    for (; i + kLanes <= half; i += kLanes) {
      const V a = V::load_unaligned(x + i), b = V::load_unaligned(x + half + i);
      const V c = V::load_unaligned(cos + i), s = V::load_unaligned(sin + i);
      xsimd::fma(a, c, -(b * s)).store_unaligned(y + i);
      xsimd::fma(b, c, a * s).store_unaligned(y + half + i);
    }
    const std::int64_t rest = half - i;
    if (rest > 0) {
      const V a = P::load(x + i, rest), b = P::load(x + half + i, rest);
      const V c = P::load(cos + i, rest), s = P::load(sin + i, rest);
      P::store(xsimd::fma(a, c, -(b * s)), y + i, rest);
      P::store(xsimd::fma(b, c, a * s), y + half + i, rest);
    }
  }
};

template <class Arch>
RopeKernels Rope<Arch>::run() noexcept {
  return {.adjacent = &RopeFunctions<Arch>::adjacent, .halves = &RopeFunctions<Arch>::halves};
}

}  // namespace weft::cpu
