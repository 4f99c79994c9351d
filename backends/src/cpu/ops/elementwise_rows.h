#pragma once

#include "cpu/kernel_rows.h"
#include "cpu/kernels/elementwise.h"

namespace weft::cpu {

inline constexpr auto kElementwiseRows = float_rows<Elementwise>();

template <Isa kIsa>
const ElementwiseKernels& elementwise() noexcept {
  static const ElementwiseKernels kKernels = best_row(kElementwiseRows, kIsa).run();
  return kKernels;
}

}  // namespace weft::cpu
