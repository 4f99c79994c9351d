#pragma once

#include "cpu/kernels/rows/rows.h"
#include "cpu/simd/exp.inl.h"
#include "cpu/simd/maybe_part.inl.h"
#include "cpu/simd/simd.inl.h"
#include "cpu/simd/wide.inl.h"

namespace weft::cpu {

template <class Arch>
struct RowFunctions {
  using V = typename Simd<Arch>::V;
  using P = Part<Arch>;
  using W = Wide<Arch>;
  static constexpr int kLanes = Simd<Arch>::kLanes;

  // Sum of the elements of term<is a part>(i, n): of the n elements from i on, a whole vector or,
  // at the end, a part of one. Four vectors of sums, so that additions do not wait for each other.
  // The order of additions depends on d alone.
  template <class F>
  static WEFT_INLINE float sum_of(std::int64_t d, F term) {
    const auto sixteen = [&](std::int64_t i) __attribute__((always_inline)) {
      return W::of([&](int lane) __attribute__((always_inline)) {
        return term.template operator()<false>(i + lane, kLanes);
      });
    };
    W sums[4] = {W::zero(), W::zero(), W::zero(), W::zero()};
    std::int64_t i = 0;
    for (; i + 64 <= d; i += 64) {
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) sums[k] = sums[k] + sixteen(i + 16 * k);
    }
    for (; i + 16 <= d; i += 16) sums[0] = sums[0] + sixteen(i);
    float rest = 0;
    for (; i + kLanes <= d; i += kLanes)
      add_in_order(term.template operator()<false>(i, kLanes), kLanes, rest);
    if (i < d) add_in_order(term.template operator()<true>(i, d - i), d - i, rest);
    return ((sums[0] + sums[1]) + (sums[2] + sums[3])).sum() + rest;
  }

  // The first n lanes, one after the other.
  static WEFT_INLINE void add_in_order(V v, std::int64_t n, float& sum) {
    alignas(64) float lanes[kLanes];
    v.store_aligned(lanes);
    for (std::int64_t k = 0; k < n; ++k) sum += lanes[k];
  }

  // Sum of term(x).
  template <class F>
  static WEFT_INLINE float sum(const float* x, std::int64_t d, F term) {
    return sum_of(
        d, [&]<bool kPart>(std::int64_t i, std::int64_t n) __attribute__((always_inline)) {
          return term(MaybePart<Arch, kPart>::load(x + i, n));
        });
  }

  static float dot(const float* a, const float* b, std::int64_t d) noexcept {
    return sum_of(
        d, [&]<bool kPart>(std::int64_t i, std::int64_t n) __attribute__((always_inline)) {
          using M = MaybePart<Arch, kPart>;
          return M::load(a + i, n) * M::load(b + i, n);
        });
  }

  static WEFT_INLINE float mean_of(const float* x, std::int64_t d) {
    return sum(
               x, d, [](V v) __attribute__((always_inline)) { return v; }) /
           static_cast<float>(d);
  }
  // The sum of the squares of the differences from `mean`.
  static WEFT_INLINE float squares_around(V mean, const float* x, std::int64_t d) {
    return sum(
        x, d, [&](V v) __attribute__((always_inline)) { return (v - mean) * (v - mean); });
  }

  static void layer_norm(const float* x, float* y, std::int64_t d, float eps) noexcept {
    const V mean(mean_of(x, d));
    const float variance = squares_around(mean, x, d) / static_cast<float>(d);
    const V factor(1.0f / Simd<Arch>::root(variance + eps));
    P::map(
        d, x, y, [&](V v) __attribute__((always_inline)) { return (v - mean) * factor; });
  }

  // x86 returns the second operand of max if one is a NaN, so the difference comes second.
  static void gaussian_top_k(const float* x, float* y, std::int64_t d, float deviations) noexcept {
    const float mean = mean_of(x, d);
    const float variance = squares_around(V(mean), x, d) / static_cast<float>(d - 1);
    const V cutoff(mean + deviations * Simd<Arch>::root(variance));
    P::map(
        d, x,
        y, [&](V v) __attribute__((always_inline)) { return xsimd::max(V(0.0f), v - cutoff); });
  }

  static WEFT_INLINE float largest(const float* x, std::int64_t d) {
    V top(-__builtin_inff());
    std::int64_t i = 0;
    for (; i + kLanes <= d; i += kLanes) top = xsimd::max(top, V::load_unaligned(x + i));
    float max = Simd<Arch>::max(top);
    for (; i < d; ++i) max = x[i] > max ? x[i] : max;
    return max;
  }

  static void softmax(const float* x, float* y, std::int64_t d) noexcept {
    const V max(largest(x, d));
    P::map(
        d, x,
        y, [&](V v) __attribute__((always_inline)) { return Exp<Arch>::of_negative(v - max); });
    const V total(sum(
        y, d, [](V v) __attribute__((always_inline)) { return v; }));
    P::map(
        d, y, y, [&](V v) __attribute__((always_inline)) { return v / total; });
  }

  static void normalize_sum(const float* x, float* y, std::int64_t d, float min) noexcept {
    const float total = sum(
        x, d, [](V v) __attribute__((always_inline)) { return v; });
    const V divisor(total < min ? min : total);
    P::map(
        d, x, y, [&](V v) __attribute__((always_inline)) { return v / divisor; });
  }

  static void weighted_sum(const float* x, std::int64_t stride, const float* weights,
                           std::int64_t n, float* y, std::int64_t d) noexcept {
    std::int64_t i = 0;
    for (; i + kLanes <= d; i += kLanes) {
      V total(0.0f);
      for (std::int64_t k = 0; k < n; ++k)
        total = Simd<Arch>::fma(V(weights[k]), V::load_unaligned(x + k * stride + i), total);
      total.store_unaligned(y + i);
    }
    if (i == d) return;
    V total(0.0f);
    for (std::int64_t k = 0; k < n; ++k)
      total = Simd<Arch>::fma(V(weights[k]), P::load(x + k * stride + i, d - i), total);
    P::store(total, y + i, d - i);
  }
};

template <class Arch>
RowKernels Rows<Arch>::run() noexcept {
  using F = RowFunctions<Arch>;
  return {.layer_norm = &F::layer_norm,
          .gaussian_top_k = &F::gaussian_top_k,
          .dot = &F::dot,
          .softmax = &F::softmax,
          .normalize_sum = &F::normalize_sum,
          .weighted_sum = &F::weighted_sum};
}

}  // namespace weft::cpu
