#pragma once
// Panels of E2M1 numbers (ops/formats/mxfp4.h).

#include "cpu/kernels/linear/codec.inl.h"
#include "cpu/simd/simd.inl.h"

#ifdef WEFT_SIXTEEN

namespace weft::cpu {

template <class Arch>
struct E2M1Panel : PanelCodecBase<Arch> {
  using S = Sixteen<Arch>;
  static constexpr int kOffset = 128, kMaxCode = 12;
  // The values of the nibbles, doubled, plus S::kRaise.
  static WEFT_INLINE typename S::Words raised(typename S::Words nibbles) {
    return S::look_up(Lookup<Arch>::template table<kE2M1Doubled, S::kRaise>(), nibbles);
  }
};

}  // namespace weft::cpu

#endif
