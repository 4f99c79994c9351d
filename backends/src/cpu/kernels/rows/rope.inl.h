#pragma once

#include "cpu/kernels/rows/rope.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct RopeFunctions {
  using S = Simd<Arch>;
  using V = typename S::V;
  using P = Part<Arch>;
  static constexpr int kLanes = S::kLanes;

  // A vector of angles at a time, for all heads.
  static void adjacent(const RopeArgs& a) noexcept {
    copy_rest(a);
    std::int64_t i = 0;
    for (; i + kLanes <= a.n_rot; i += kLanes) adjacent_part<true>(a, i, kLanes);
    if (i < a.n_rot) adjacent_part<false>(a, i, a.n_rot - i);
  }
  template <bool kWhole>
  static WEFT_INLINE void adjacent_part(const RopeArgs& a, std::int64_t i, std::int64_t n) {
    const V angles = load<kWhole>(a.angles + i, n);
    const V cos = S::firsts(angles), sin = S::negate_firsts(S::seconds(angles));
    for (std::int64_t at = i; at < a.n_heads * a.e; at += a.e) {
      const V x = load<kWhole>(a.x + at, n);
      store<kWhole>(S::fma(x, cos, S::swap_pairs(x) * sin), a.y + at, n);
    }
  }

  static void halves(const RopeArgs& a) noexcept {
    copy_rest(a);
    const std::int64_t half = a.n_rot / 2;
    std::int64_t i = 0;
    for (; i + kLanes <= half; i += kLanes) halves_part<true>(a, i, kLanes);
    if (i < half) halves_part<false>(a, i, half - i);
  }
  template <bool kWhole>
  static WEFT_INLINE void halves_part(const RopeArgs& a, std::int64_t i, std::int64_t n) {
    const float* angles = a.angles + 2 * i;
    const std::int64_t n_low = 2 * n < kLanes ? 2 * n : kLanes;
    const V low = load<kWhole>(angles, n_low), high = load<kWhole>(angles + n_low, 2 * n - n_low);
    const V cos = S::firsts(low, high), sin = S::seconds(low, high);
    const std::int64_t half = a.n_rot / 2;
    for (std::int64_t at = i; at < a.n_heads * a.e; at += a.e) {
      const V u = load<kWhole>(a.x + at, n), v = load<kWhole>(a.x + at + half, n);
      store<kWhole>(S::fma(u, cos, -(v * sin)), a.y + at, n);
      store<kWhole>(S::fma(v, cos, u * sin), a.y + at + half, n);
    }
  }

  static WEFT_INLINE void copy_rest(const RopeArgs& a) {
    if (a.x == a.y || a.n_rot == a.e) return;
    for (std::int64_t at = a.n_rot; at < a.n_heads * a.e; at += a.e)
      std::memcpy(a.y + at, a.x + at, static_cast<std::size_t>(a.e - a.n_rot) * sizeof(float));
  }
  template <bool kWhole>
  static WEFT_INLINE V load(const float* p, std::int64_t n) {
    if constexpr (kWhole) return V::load_unaligned(p);
    return P::load(p, n);
  }
  template <bool kWhole>
  static WEFT_INLINE void store(V v, float* p, std::int64_t n) {
    if constexpr (kWhole) return v.store_unaligned(p);
    P::store(v, p, n);
  }
};

template <class Arch>
RopeKernels Rope<Arch>::run() noexcept {
  return {.adjacent = &RopeFunctions<Arch>::adjacent, .halves = &RopeFunctions<Arch>::halves};
}

}  // namespace weft::cpu
