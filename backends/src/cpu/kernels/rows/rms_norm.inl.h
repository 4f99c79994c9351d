#pragma once

#include "cpu/kernels/rows/rms_norm.h"
#include "cpu/simd/simd.inl.h"
#include "cpu/simd/wide.inl.h"

namespace weft::cpu {

// Four vectors of sums, so that additions do not wait for each other. The order of additions
// depends on d alone.
template <class Arch>
struct SumOfSquares {
  using W = Wide<Arch>;

  static WEFT_INLINE float of(const float* x, std::int64_t d) {
    W sums[4] = {W::zero(), W::zero(), W::zero(), W::zero()};
    std::int64_t i = 0;
    for (; i + 64 <= d; i += 64) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) add(sums[k], W::load(x + i + 16 * k));
    }
#pragma GCC unroll 3
    for (int k = 0; k < 3; ++k) {
      if (i + 16 > d) break;
      add(sums[k], W::load(x + i));
      i += 16;
    }
    if (i < d) add(sums[3], W::load(x + i, d - i));
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])).sum();
  }
  static WEFT_INLINE void add(W& sum, const W& v) {
    sum = sum.plus(v, v);
  }
};

template <class Arch>
void RmsNorm<Arch>::run(const float* x, const float* w, float* y, std::int64_t d,
                        float eps) noexcept {
  using V = typename Simd<Arch>::V;
  const float mean = SumOfSquares<Arch>::of(x, d) / static_cast<float>(d);
  const V factor(1.0f / Simd<Arch>::root(mean + eps));
  if (w) {
    Part<Arch>::map2(
        d, x, w, y, [&](V v, V u) __attribute__((always_inline)) { return v * factor * u; });
  } else {
    Part<Arch>::map(
        d, x, y, [&](V v) __attribute__((always_inline)) { return v * factor; });
  }
}

}  // namespace weft::cpu
