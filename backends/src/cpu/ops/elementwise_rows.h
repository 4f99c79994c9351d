#pragma once

#include "cpu/kernel_rows.h"
#include "cpu/kernels/elementwise.h"

namespace weft::cpu {

inline constexpr auto kElementwiseRows = float_rows<Elementwise>();

}  // namespace weft::cpu
