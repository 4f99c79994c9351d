#pragma once
// y = silu(a) * b, elementwise.
//   a, b f32, of one shape     y like b, may run in place over b
// Made by the pass fuse_silu_mul; equals mul(silu(a), b).

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kSiluMul;  // inputs: a, b

}  // namespace weft
