#pragma once
// y = x / 2 * (1 + erf(x / sqrt(2))), the exact form.
//   x f32 of any shape     y like x, may run in place
// Source: Hendrycks & Gimpel 2016, arXiv:1606.08415.

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

// The value of one element.
double gelu_erf_of(double x);

extern const OpDef kGeluErf;
Tensor gelu_erf(Tensor x, SourceLine where = std::source_location::current());

}  // namespace weft
