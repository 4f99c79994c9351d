#pragma once
// y = a * b, elementwise.
//   a [.., D] f32     y like a, may run in place over a
//   b f32 like a, or repeated:
//     [D]: for every row and every head of a
//     [H, D]: for every row of a [T, H, D]
//     [H, 1]: for every row of a [T, H, D], one value for each head
//     [1]: for every element

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kMul;
Tensor mul(Tensor a, Tensor b, SourceLine where = std::source_location::current());
inline Tensor operator*(Tensor a, Tensor b) {
  return mul(a, b);
}

}  // namespace weft
