#pragma once
// y[.., i] = exp(x[.., i]) / sum_j exp(x[.., j]) over the last dimension.
//   x f32     y like x, may run in place

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kSoftmax;
Tensor softmax(Tensor x, std::source_location where = std::source_location::current());

}  // namespace weft
