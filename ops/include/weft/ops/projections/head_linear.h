#pragma once
// Every head with a matrix of its own: y[t, h, n] = sum_k x[t, h, k] * w[h, n, k].
//   x [T, H, K] f32     w [H, N, K] any format, K whole blocks of it     y [T, H, N] f32
// Multi-head latent attention absorbs its projections with it (DeepSeek-AI 2024, arXiv:2405.04434,
// section 2.1).

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kHeadLinear;
Tensor head_linear(Tensor x, Tensor w, SourceLine where = std::source_location::current());

}  // namespace weft
