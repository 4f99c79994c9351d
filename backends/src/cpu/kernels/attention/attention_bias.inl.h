#pragma once
// The scores of biased_attention: softcap, slopes (ALiBi) and a table of distances.

#include "cpu/kernels/attention/attention.h"
#include "cpu/simd/hyperbolic.inl.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct AddBias {
  using V = typename Simd<Arch>::V;
  static constexpr int kLanes = Simd<Arch>::kLanes;

  // A sink counts as a score that was seen before, of a value of 0.
  static WEFT_INLINE void start(const AttentionArgs& a, std::int64_t r, float& largest,
                                float& sum) {
    const float sink = a.bias->sinks ? a.bias->sinks[r % a.n_heads] : -__builtin_inff();
    if (sink == -__builtin_inff()) return;
    largest = sink;
    sum = 1;
  }

  // Changes the scores p [n_rows][kCells] of rows (heads of tokens) from r0 on with the n positions
  // from `first` on; p has whole vectors.
  static __attribute__((noinline)) void run(const AttentionArgs& a, std::int64_t r0, int n_rows,
                                            std::int64_t first, std::int64_t n, float* p) {
    const ScoreBias& bias = *a.bias;
    for (int i = 0; i < n_rows; ++i, p += AttentionKernels::kCells) {
      const std::int64_t h = (r0 + i) % a.n_heads;
      const std::int64_t distance = first - bias.pos[(r0 + i) / a.n_heads];
      if (bias.softcap != 0) cap(bias.softcap, n, p);
      if (bias.slopes) fall(bias.slopes[h], distance, n, p);
      if (bias.distances) look_up(bias, h, distance, n, p);
    }
  }

 private:
  static WEFT_INLINE void cap(float limit, std::int64_t n, float* p) {
    const V cap(limit);
    for (std::int64_t i = 0; i < n; i += kLanes)
      (cap * Hyperbolic<Arch>::tanh(V::load_aligned(p + i) / cap)).store_aligned(p + i);
  }
  static WEFT_INLINE void fall(float slope, std::int64_t distance, std::int64_t n, float* p) {
    alignas(64) float lanes[kLanes];
    for (int i = 0; i < kLanes; ++i) lanes[i] = static_cast<float>(i);
    const V steps = V::load_aligned(lanes), negative(-slope);
    for (std::int64_t i = 0; i < n; i += kLanes) {
      const V d = xsimd::abs(V(static_cast<float>(distance + i)) + steps);
      Simd<Arch>::fma(negative, d, V::load_aligned(p + i)).store_aligned(p + i);
    }
  }
  static WEFT_INLINE void look_up(const ScoreBias& bias, std::int64_t h, std::int64_t distance,
                                  std::int64_t n, float* p) {
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t d = distance + i;
      d = d < -bias.reach ? -bias.reach : d > bias.reach ? bias.reach : d;
      p[i] += bias.distances[(d + bias.reach) * bias.distance_stride + h];
    }
  }
};

}  // namespace weft::cpu
