#pragma once
// y[t, k] = x[t, ids[t, k]], or x[ids[t, k]] of a vector.
//   x [T, X] or [X] f32     ids [T, K] i32, 0 <= id < X (an id outside gives NaN)
//   y [T, K] f32

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kGather;
Tensor gather(Tensor x, Tensor ids, SourceLine where = std::source_location::current());

}  // namespace weft
