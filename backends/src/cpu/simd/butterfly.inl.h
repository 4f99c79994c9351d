#pragma once
// Sums and differences of lanes at a distance that is a power of two: lane i becomes v[i] + v[i +
// kDistance] if i has not the bit kDistance, else v[i - kDistance] - v[i].

#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct Butterfly {
  using V = typename Simd<Arch>::V;
  static constexpr int kLanes = Simd<Arch>::kLanes;

  template <int kDistance>
  static WEFT_INLINE V run(V v) {
    static_assert(kDistance < kLanes);
    return Simd<Arch>::fma(v, V::load_aligned(kSigns<kDistance>.of), swapped<kDistance>(v));
  }

 private:
  template <int kDistance>
  struct Signs {
    alignas(64) float of[kLanes];
    constexpr Signs() : of{} {
      for (int i = 0; i < kLanes; ++i) of[i] = i & kDistance ? -1.0f : 1.0f;
    }
  };
  template <int kDistance>
  static constexpr Signs<kDistance> kSigns{};

  template <int kDistance>
  static WEFT_INLINE V swapped(V v) {
    if constexpr (kDistance == 1) return Simd<Arch>::swap_pairs(v);
#ifdef __AVX512BW__
    if constexpr (kLanes == 16) {
      if constexpr (kDistance == 2) return V(_mm512_permute_ps(v, 0x4e));
      if constexpr (kDistance == 4) return V(_mm512_shuffle_f32x4(v, v, 0xb1));
      if constexpr (kDistance == 8) return V(_mm512_shuffle_f32x4(v, v, 0x4e));
    }
#endif
#ifdef __AVX2__
    if constexpr (kLanes == 8) {
      if constexpr (kDistance == 2) return V(_mm256_permute_ps(v, 0x4e));
      if constexpr (kDistance == 4) return V(_mm256_permute2f128_ps(v, v, 1));
    }
#endif
#ifdef __SSE2__
    if constexpr (kLanes == 4 && kDistance == 2) return V(_mm_shuffle_ps(v, v, 0x4e));
#endif
#ifdef __ARM_NEON
    if constexpr (kLanes == 4 && kDistance == 2) return V(vextq_f32(v, v, 2));
#endif
  }
};

}  // namespace weft::cpu
