#pragma once
// y[.., d] = x[.., d] / sqrt(mean_d(x[.., :]^2) + eps) * w[d]: rms_norm and its weight as one node.
//   x [.., D] f32     w [D] f32     y like x, may run in place over x
// Made by the pass fuse_norm_scale; equals mul(rms_norm(x, eps), w).

#include "weft/graph/tensor.h"
#include "weft/ops/norms/rms_norm.h"

namespace weft {

extern const OpDef kRmsNormMul;  // inputs: x, w; attributes: RmsNormAttrs

}  // namespace weft
