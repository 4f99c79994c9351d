#pragma once

#include "cpu/kernels/rms_norm.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

// Four vectors of sums, so that additions do not wait for each other. The order of additions
// depends on d alone.
template <class Arch>
struct SumOfSquares {
  using V = typename Simd<Arch>::V;
  static constexpr int kLanes = Simd<Arch>::kLanes;

  static WEFT_INLINE float of(const float* x, std::int64_t d) {
    V sums[4] = {V(0.0f), V(0.0f), V(0.0f), V(0.0f)};
    std::int64_t i = 0;
    for (; i + 4 * kLanes <= d; i += 4 * kLanes) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) add(sums[k], V::load_unaligned(x + i + k * kLanes));
    }
#pragma GCC unroll 3
    for (int k = 0; k < 3; ++k) {
      if (i + kLanes > d) break;
      add(sums[k], V::load_unaligned(x + i));
      i += kLanes;
    }
    if (i < d) add(sums[3], Part<Arch>::load(x + i, d - i));
    return Simd<Arch>::sum((sums[0] + sums[1]) + (sums[2] + sums[3]));
  }
  static WEFT_INLINE void add(V& sum, V v) {
    sum = xsimd::fma(v, v, sum);
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
