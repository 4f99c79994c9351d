#pragma once
// y = sqrt(x), NaN for negative x.     x f32 of any shape     y like x, may run in place

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kSqrt;
Tensor sqrt(Tensor x, SourceLine where = std::source_location::current());

}  // namespace weft
