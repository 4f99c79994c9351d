#pragma once
// y[t, h] = sum_e a[t, h, e] * b[t, h, e].
//   a, b [T, H, E] f32     y [T, H] f32

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kDotHeads;
Tensor dot_heads(Tensor a, Tensor b, SourceLine where = std::source_location::current());

}  // namespace weft
