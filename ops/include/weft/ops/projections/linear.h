#pragma once
// y[t, n] = sum_k x[t, k] * w[n, k]  (+ bias[n])  (+ residual[t, n])
//   x [T, K] f32, or Q8A (activations quantized by the `quantize` op)     w [N, K] any format
//   bias [N] f32     residual [T, N] f32     y [T, N] f32, may run in place over residual
// `linear` makes the plain form; the form with a residual comes from the pass fuse_residual and
// equals add(residual, linear(x, w, bias)).

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kLinear;  // inputs: x, w, bias?, residual?
Tensor linear(Tensor x, Tensor w, Tensor bias = {},
              SourceLine where = std::source_location::current());

}  // namespace weft
