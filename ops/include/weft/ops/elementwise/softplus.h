#pragma once
// y = log(1 + exp(x)).
//   x f32 of any shape     y like x, may run in place

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kSoftplus;
Tensor softplus(Tensor x, SourceLine where = std::source_location::current());

}  // namespace weft
