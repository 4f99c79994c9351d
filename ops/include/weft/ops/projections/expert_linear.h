#pragma once
// The products of a mixture of experts: every token with the matrices that were chosen for it.
//   y[t, k, n] = sum_d x[t, d] * w[ids[t, k], n, d]       (x [T, D])
//   y[t, k, n] = sum_d x[t, k, d] * w[ids[t, k], n, d]    (x [T, K, D])
//   x f32 or Q8A     w [X, N, D] any format; D whole blocks of both types     y [T, K, N] f32
//   ids [T, K] i32, 0 <= id < X (an id outside gives N values of NaN)
// Source: Shazeer et al. 2017, arXiv:1701.06538.

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kExpertLinear;
Tensor expert_linear(Tensor x, Tensor w, Tensor ids,
                     SourceLine where = std::source_location::current());

}  // namespace weft
