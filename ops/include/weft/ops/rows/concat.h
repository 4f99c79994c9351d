#pragma once
// y[t, :] = [x_0[t, :] | x_1[t, :] | ...]: rows side by side.
//   x_i [T, N_i] f32, at least one     y [T, N_0 + N_1 + ...] f32

#include <source_location>
#include <span>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kConcat;
Tensor concat(std::span<const Tensor> parts, SourceLine where = std::source_location::current());

}  // namespace weft
