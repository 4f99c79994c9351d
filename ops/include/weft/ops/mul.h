#pragma once
// y = a * b, elementwise.
//   a [.., D] f32     y like a, may run in place over a
//   b like a, or repeated: [D] along the last dimension, [H, D] or [H, 1] for every row of a [T, H,
//   D], [1] for every element

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kMul;
Tensor mul(Tensor a, Tensor b, std::source_location where = std::source_location::current());
inline Tensor operator*(Tensor a, Tensor b) {
  return mul(a, b);
}

}  // namespace weft
