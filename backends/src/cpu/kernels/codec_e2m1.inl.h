#pragma once
// Panels of E2M1 numbers (ops/formats/mxfp4.h).

#include "cpu/kernels/codec.inl.h"
#include "cpu/simd/simd.inl.h"

#ifdef __AVX2__

namespace weft::cpu {

template <class Arch>
struct E2M1Panel : PanelCodecBase<Arch> {
  using S = Sixteen<Arch>;
  static constexpr int kOffset = 128, kMaxCode = 12;
  // The values of the nibbles, doubled, plus S::kRaise.
  static WEFT_INLINE typename S::Words raised(typename S::Words nibbles) {
    const __m128i table = _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
    return S::look_up(_mm_xor_si128(table, _mm_set1_epi8(static_cast<char>(S::kRaise))), nibbles);
  }
};

}  // namespace weft::cpu

#endif
