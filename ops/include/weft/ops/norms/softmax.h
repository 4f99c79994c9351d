#pragma once
// y[.., i] = exp(x[.., i]) / sum_j exp(x[.., j]) over the last dimension.
//   x f32     y like x, may run in place

#include <cmath>
#include <source_location>
#include <span>

#include "weft/graph/tensor.h"

namespace weft {

// The definition of a row, in double. REQUIRES: x is not empty.
struct ExpSum {
  double max = 0, sum = 0;  // the largest x, and the sum of exp(x - max)
  double share_of(float x) const { return std::exp(x - max) / sum; }  // y
};
ExpSum exp_sum_of(std::span<const float> x);

extern const OpDef kSoftmax;
Tensor softmax(Tensor x, SourceLine where = std::source_location::current());

}  // namespace weft
