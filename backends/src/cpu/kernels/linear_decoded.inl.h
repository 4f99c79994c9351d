#pragma once

#include "cpu/kernels/linear_decoded.h"
#include "cpu/kernels/linear_f32.inl.h"

namespace weft::cpu {

struct DecodedWeights {};

template <class Arch>
struct Codec<Arch, DecodedWeights> : ScalarCodec {
  static constexpr bool kIsDecoded = true;
};

template <class Arch>
void LinearDecoded<Arch>::run(const LinearArgs& args) noexcept {
  LinearF32<Arch, Codec<Arch, DecodedWeights>>::run(args);
}

}  // namespace weft::cpu
