#pragma once
// Formats without kernels of their own.

#include "cpu/kernels/weights.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, DecodedWeights> : ScalarCodec {
  static constexpr bool kIsDecoded = true;
};

}  // namespace weft::cpu
