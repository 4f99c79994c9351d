#pragma once
// y = a + (b - a) * w: linear interpolation, elementwise.
//   a, b [T, D] or [T, H, D] f32, of one shape     y like a
//   w f32 like a, or repeated:
//     [D]: for every row and every head
//     [H, D]: for every row of a [T, H, D]
// If a and b are [T, 1, D], every row may be interpolated in M ways: w [M, D] or [T, M, D],
// y [T, M, D].

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kLerp;
Tensor lerp(Tensor a, Tensor b, Tensor w, SourceLine where = std::source_location::current());

}  // namespace weft
