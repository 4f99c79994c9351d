#pragma once
// Panels of E2M1 numbers (ops/formats/mxfp4.h).

#include "cpu/kernels/codec.inl.h"
#include "cpu/simd/simd.inl.h"

#ifdef __AVX512VNNI__

namespace weft::cpu {

template <class Arch>
struct E2M1Panel : PanelCodecBase {
  static constexpr int kOffset = 128;
  // The values of the nibbles, doubled, plus kOffset.
  static WEFT_INLINE __m512i raised(__m512i nibbles) {
    const __m128i table = _mm_setr_epi8(-128, -127, -126, -125, -124, -122, -120, -116,  //
                                        -128, 127, 126, 125, 124, 122, 120, 116);
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), nibbles);
  }
};

}  // namespace weft::cpu

#endif
