#pragma once
// y = x / (1 + exp(-x)).     x f32 of any shape     y like x, may run in place
// Source: Elfwing et al. 2017, arXiv:1702.03118.

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kSilu;
Tensor silu(Tensor x, SourceLine where = std::source_location::current());

}  // namespace weft
