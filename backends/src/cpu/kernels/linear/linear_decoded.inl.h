#pragma once

#include "cpu/kernels/linear/linear_decoded.h"
#include "cpu/kernels/linear/linear_f32.inl.h"
#include "cpu/kernels/linear/linear_kernel.inl.h"

namespace weft::cpu {

struct DecodedWeights {};

template <class Arch>
struct Codec<Arch, DecodedWeights> : ScalarCodec {
  static constexpr bool kIsDecoded = true;
};

template <class Arch>
LinearKernel LinearDecoded<Arch>::run() noexcept {
  return linear_kernel<LinearF32<Arch, Codec<Arch, DecodedWeights>>>();
}

}  // namespace weft::cpu
