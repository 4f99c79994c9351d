#pragma once
// y = max(x, 0); NaN stays NaN.
//   x f32 of any shape     y like x, may run in place
// Source: Nair & Hinton 2010, https://dl.acm.org/doi/10.5555/3104322.3104425.

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kRelu;
Tensor relu(Tensor x, SourceLine where = std::source_location::current());

}  // namespace weft
