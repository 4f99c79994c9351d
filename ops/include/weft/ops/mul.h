#pragma once
// y = a * b, elementwise.
//   a [.., D] f32     b like a, or [D], applied along the last dimension
//   y like a, may run in place over a

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kMul;
Tensor mul(Tensor a, Tensor b, std::source_location where = std::source_location::current());
inline Tensor operator*(Tensor a, Tensor b) {
  return mul(a, b);
}

}  // namespace weft
