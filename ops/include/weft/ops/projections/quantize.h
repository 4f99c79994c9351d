#pragma once
// y = x in blocks of 32 signed bytes with one f32 scale each (format Q8A), the input of integer dot
// products.
//   x [T, .., K] f32, K a multiple of 32     y [T, .., K] Q8A; a NaN makes its block NaN
// Inserted before projections and attention by the cpu backend's pass quantize_activations.

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kQuantize;
Tensor quantize(Tensor x, SourceLine where = std::source_location::current());

}  // namespace weft
