#pragma once

#include "cpu/kernels/linear/linear_kernel.h"

namespace weft::cpu {

// f32 activations times weights of any format, which LinearArgs::decode decodes.
template <class Arch>
struct LinearDecoded {
  static LinearKernel run() noexcept;
};

}  // namespace weft::cpu
