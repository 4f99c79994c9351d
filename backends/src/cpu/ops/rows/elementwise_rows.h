#pragma once

#include "cpu/kernels/rows/elementwise.h"

namespace weft::cpu {

template <class Arch>
const ElementwiseKernels& elementwise() noexcept {
  static const ElementwiseKernels kKernels = Elementwise<Arch>::run();
  return kKernels;
}

}  // namespace weft::cpu
