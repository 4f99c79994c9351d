#pragma once

#include "cpu/kernels/rows/rows.h"

namespace weft::cpu {

template <class Arch>
const RowKernels& row_kernels() noexcept {
  static const RowKernels kKernels = Rows<Arch>::run();
  return kKernels;
}

}  // namespace weft::cpu
