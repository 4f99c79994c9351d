#pragma once
// The kernels of weight formats. A format without its own has those that decode it with its codec.

#include "weft/graph/dtype.h"

#include "cpu/isa.h"
#include "cpu/kernels/weights.h"

namespace weft::cpu {

bool has_weight_kernels(DType weights);
// Q8A activations can be multiplied by such weights.
bool has_integer_row(DType weights);
// Such activations can be multiplied by the panels of such plain weights.
bool has_panel_row(DType activations, DType weights, Isa isa);
// The instruction set of the row that runs for these weights. REQUIRES:
// has_weight_kernels(weights), here and below.
Isa weight_row_isa(DType weights, Isa isa);
const WeightKernels& weight_kernels(DType weights, Isa isa) noexcept;

}  // namespace weft::cpu
