#pragma once
// y = a + b, elementwise.
//   a [.., D] f32     b like a, or [D], added to every row     y like a, may run in place over a

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kAdd;
Tensor add(Tensor a, Tensor b, std::source_location where = std::source_location::current());
inline Tensor operator+(Tensor a, Tensor b) {
  return add(a, b);
}

}  // namespace weft
