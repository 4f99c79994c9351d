#pragma once
// y[t, :] = sum_k weights[t, k] * x[t, k, :], in the order of k.
//   x [T, K, D] f32     weights [T, K] f32     y [T, D] f32

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kWeightedSum;
Tensor weighted_sum(Tensor x, Tensor weights, SourceLine where = std::source_location::current());

}  // namespace weft
