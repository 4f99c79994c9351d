#pragma once

#include "cpu/kernels/rms_norm.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
void RmsNorm<Arch>::run(const float* x, const float* w, float* y, std::int64_t d,
                        float eps) noexcept {
  using V = typename Simd<Arch>::V;
  constexpr int kLanes = Simd<Arch>::kLanes;
  V squares(0.0f);
  std::int64_t i = 0;
  for (; i + kLanes <= d; i += kLanes) {
    const V v = V::load_unaligned(x + i);
    squares = xsimd::fma(v, v, squares);
  }
  if (i < d) {
    const V v = Part<Arch>::load(x + i, d - i);
    squares = xsimd::fma(v, v, squares);
  }
  const float mean = Simd<Arch>::sum(squares) / static_cast<float>(d);
  const V factor(1.0f / _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(mean + eps))));
  if (w) {
    Part<Arch>::map2(
        d, x, w, y, [&](V v, V u) __attribute__((always_inline)) { return v * factor * u; });
  } else {
    Part<Arch>::map(
        d, x, y, [&](V v) __attribute__((always_inline)) { return v * factor; });
  }
}

}  // namespace weft::cpu
