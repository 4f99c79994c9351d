#pragma once
// y[t, h, :] = x[t, h, :] * factors[t, h].
//   x [T, H, E] f32     factors [T, H] f32     y like x, may run in place

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kScaleHeads;
Tensor scale_heads(Tensor x, Tensor factors, SourceLine where = std::source_location::current());

}  // namespace weft
