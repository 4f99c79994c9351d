#pragma once
// Square transposition in registers: kLanes vectors of kLanes floats.

#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

// 4 x 4 within each 128 bits of four vectors.
template <class Arch>
struct TransposeQuarters {
  using V = typename Simd<Arch>::V;
  using Q = Quarters<Arch>;
  static WEFT_INLINE void run(V& r0, V& r1, V& r2, V& r3) {
    const typename Q::R a = Q::low(r0, r1), b = Q::high(r0, r1), c = Q::low(r2, r3),
                        d = Q::high(r2, r3);
    r0 = V(Q::low_pairs(a, c));
    r1 = V(Q::high_pairs(a, c));
    r2 = V(Q::low_pairs(b, d));
    r3 = V(Q::high_pairs(b, d));
  }
};

template <class Arch>
struct Transpose {
  using V = typename Simd<Arch>::V;
  static constexpr int kLanes = Simd<Arch>::kLanes;

  static WEFT_INLINE void run(V (&r)[kLanes]) {
#pragma GCC unroll 4
    for (int i = 0; i < kLanes; i += 4)
      TransposeQuarters<Arch>::run(r[i], r[i + 1], r[i + 2], r[i + 3]);
#ifdef __AVX512BW__
    if constexpr (kLanes == 16) return quarters_of_16(r);
#endif
#ifdef __AVX2__
    if constexpr (kLanes == 8) return halves_of_8(r);
#endif
  }

#ifdef __AVX2__
  template <class R>
  static WEFT_INLINE void halves_of_8(R (&r)[8]) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const __m256 a = r[i], b = r[i + 4];
      r[i] = _mm256_permute2f128_ps(a, b, 0x20);
      r[i + 4] = _mm256_permute2f128_ps(a, b, 0x31);
    }
  }
#endif

#ifdef __AVX512BW__
  template <class R>
  static WEFT_INLINE void quarters_of_16(R (&r)[16]) {
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {  // 4 x 4 of quarters
      const __m512 a = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88),
                   b = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xdd),
                   c = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88),
                   d = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xdd);
      r[i] = _mm512_shuffle_f32x4(a, c, 0x88);
      r[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
      r[i + 8] = _mm512_shuffle_f32x4(a, c, 0xdd);
      r[i + 12] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
  }
#endif
};

}  // namespace weft::cpu
