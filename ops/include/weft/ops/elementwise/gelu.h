#pragma once
// y = x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))), the approximation by tanh.
//   x f32 of any shape     y like x, may run in place
// Source: Hendrycks & Gimpel 2016, arXiv:1606.08415.

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

// The value of one element.
double gelu_of(double x);

extern const OpDef kGelu;
Tensor gelu(Tensor x, SourceLine where = std::source_location::current());

}  // namespace weft
