#pragma once
// Square transposition in registers: kLanes vectors of kLanes floats.

#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct Transpose;

template <>
struct Transpose<Sse2> {
  using V = Simd<Sse2>::V;
  static WEFT_INLINE void run(V (&r)[4]) {
    const __m128 a = _mm_unpacklo_ps(r[0], r[1]), b = _mm_unpackhi_ps(r[0], r[1]),
                 c = _mm_unpacklo_ps(r[2], r[3]), d = _mm_unpackhi_ps(r[2], r[3]);
    r[0] = _mm_movelh_ps(a, c);
    r[1] = _mm_movehl_ps(c, a);
    r[2] = _mm_movelh_ps(b, d);
    r[3] = _mm_movehl_ps(d, b);
  }
};

#ifdef __AVX2__
template <>
struct Transpose<Avx2> {
  using V = Simd<Avx2>::V;
  static WEFT_INLINE void run(V (&r)[8]) {
    __m256 t[8];
#pragma GCC unroll 4
    for (int i = 0; i < 8; i += 4) {  // 4 x 4 within each half
      const __m256 a = _mm256_unpacklo_ps(r[i], r[i + 1]), b = _mm256_unpackhi_ps(r[i], r[i + 1]),
                   c = _mm256_unpacklo_ps(r[i + 2], r[i + 3]),
                   d = _mm256_unpackhi_ps(r[i + 2], r[i + 3]);
      t[i] = _mm256_shuffle_ps(a, c, 0x44);
      t[i + 1] = _mm256_shuffle_ps(a, c, 0xee);
      t[i + 2] = _mm256_shuffle_ps(b, d, 0x44);
      t[i + 3] = _mm256_shuffle_ps(b, d, 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      r[i] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x20);
      r[i + 4] = _mm256_permute2f128_ps(t[i], t[i + 4], 0x31);
    }
  }
};
#endif

#ifdef __AVX512BW__
template <>
struct Transpose<Avx512> {
  using V = Simd<Avx512>::V;
  static WEFT_INLINE void run(V (&r)[16]) {
    __m512 t[16];
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {  // 4 x 4 within each quarter
      const __m512 a = _mm512_unpacklo_ps(r[i], r[i + 1]), b = _mm512_unpackhi_ps(r[i], r[i + 1]),
                   c = _mm512_unpacklo_ps(r[i + 2], r[i + 3]),
                   d = _mm512_unpackhi_ps(r[i + 2], r[i + 3]);
      t[i] = _mm512_shuffle_ps(a, c, 0x44);
      t[i + 1] = _mm512_shuffle_ps(a, c, 0xee);
      t[i + 2] = _mm512_shuffle_ps(b, d, 0x44);
      t[i + 3] = _mm512_shuffle_ps(b, d, 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {  // 4 x 4 of quarters
      const __m512 a = _mm512_shuffle_f32x4(t[i], t[i + 4], 0x88),
                   b = _mm512_shuffle_f32x4(t[i], t[i + 4], 0xdd),
                   c = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0x88),
                   d = _mm512_shuffle_f32x4(t[i + 8], t[i + 12], 0xdd);
      r[i] = _mm512_shuffle_f32x4(a, c, 0x88);
      r[i + 4] = _mm512_shuffle_f32x4(b, d, 0x88);
      r[i + 8] = _mm512_shuffle_f32x4(a, c, 0xdd);
      r[i + 12] = _mm512_shuffle_f32x4(b, d, 0xdd);
    }
  }
};
#endif

}  // namespace weft::cpu
