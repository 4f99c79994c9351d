#pragma once
// Lanes are cells. A product of two floats is exact in double, so a fused multiply-add rounds as
// the sum of the definition does.

#include "cpu/kernels/attention/index_scores.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct IndexScoresFunctions {
  using V = xsimd::batch<double, typename Simd<Arch>::V::arch_type>;
  static constexpr int kLanes = static_cast<int>(V::size);
  static constexpr std::int64_t kStrip = IndexScoresKernels::kStrip;
  static constexpr std::int64_t kCells = IndexScoresKernels::kCells;
  static constexpr int kHeads = 4, kVectors = 2;  // those whose sums are kept in registers

  static void widen(const float* tile, std::int64_t e, double* keys) noexcept {
    for (std::int64_t s = 0; s < kCells; s += kStrip) {
      for (std::int64_t i = 0; i < e; ++i, keys += kStrip) {
        for (std::int64_t c = 0; c < kStrip; ++c)
          keys[c] = static_cast<double>(tile[i * kCells + s + c]);
      }
    }
  }

  static void run(const IndexScoresArgs& a) noexcept {
    for (std::int64_t s = 0; s < a.n; s += kVectors * kLanes) {
      V totals[kVectors];
      for (V& total : totals) total = V(0.0);
      std::int64_t h = 0;
      for (; h + kHeads <= a.n_heads; h += kHeads) add_heads<kHeads>(a, h, s, totals);
      for (; h < a.n_heads; ++h) add_heads<1>(a, h, s, totals);
      if (a.weights) store(totals, a.y + s);
    }
  }

 private:
  template <int H>
  static WEFT_INLINE void add_heads(const IndexScoresArgs& a, std::int64_t h, std::int64_t s,
                                    V (&totals)[kVectors]) {
    const double* keys = a.keys + s / kStrip * kStrip * a.e + s % kStrip;
    const double* q = a.q + h * a.e;
    V sums[H][kVectors];
#pragma GCC unroll 4
    for (int r = 0; r < H; ++r) {
      for (V& sum : sums[r]) sum = V(0.0);
    }
    for (std::int64_t i = 0; i < a.e; ++i, keys += kStrip) {
#pragma GCC unroll 4
      for (int r = 0; r < H; ++r) {
        const V element(q[r * a.e + i]);
#pragma GCC unroll 2
        for (int c = 0; c < kVectors; ++c)
          sums[r][c] = xsimd::fma(element, V::load_aligned(keys + c * kLanes), sums[r][c]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < H; ++r) {
      if (!a.weights) {
        store(sums[r], a.y + (h + r) * kCells + s);
        continue;
      }
      // x86 returns the second operand of max if one is a NaN.
      const V weight(static_cast<double>(a.weights[h + r]));
#pragma GCC unroll 2
      for (int c = 0; c < kVectors; ++c)
        totals[c] = totals[c] + weight * xsimd::max(V(0.0), sums[r][c]);
    }
  }

  static WEFT_INLINE void store(const V (&sums)[kVectors], float* y) {
    alignas(64) double lanes[kVectors * kLanes];
    for (int c = 0; c < kVectors; ++c) sums[c].store_aligned(lanes + c * kLanes);
    for (int i = 0; i < kVectors * kLanes; ++i)
      y[i] = lanes[i] == lanes[i] ? static_cast<float>(lanes[i]) : -__builtin_inff();
  }
};

template <class Arch>
IndexScoresKernels IndexScores<Arch>::run() noexcept {
  using F = IndexScoresFunctions<Arch>;
  return {.widen = &F::widen, .run = &F::run};
}

}  // namespace weft::cpu
