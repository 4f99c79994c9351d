#pragma once
// The products of a mixture of experts: every token with the matrices that were chosen for it.
//   y[t, k, n] = sum_d x[t, d] * w[ids[t, k], n, d]       (x [T, D])
//   y[t, k, n] = sum_d x[t, k, d] * w[ids[t, k], n, d]    (x [T, K, D])
//   x f32 or Q8A     w [X, N, D] any format; D whole blocks of both types     y [T, K, N] f32
//   ids [T, K] i32, 0 <= id < X (an id outside gives N values of NaN)
// With attributes, w has a part of the experts: w[id - first] is the matrix of an id in
// [first, first + X). Other ids in [0, all) give N zeros, so that the sum over nodes that have all
// experts between them is the product with all.
// Source: Shazeer et al. 2017, arXiv:1701.06538.

#include <cstdint>
#include <source_location>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct ExpertLinearAttrs {
  std::int64_t first = 0;  // id of the first expert of w; 0 <= first, first + X <= all
  std::int64_t all = 0;    // experts that ids may choose; 0: those of w
  static constexpr auto fields() {
    return std::tuple{field("first", &ExpertLinearAttrs::first),
                      field("all", &ExpertLinearAttrs::all)};
  }
};

extern const OpDef kExpertLinear;
Tensor expert_linear(Tensor x, Tensor w, Tensor ids, const ExpertLinearAttrs& part = {},
                     SourceLine where = std::source_location::current());

}  // namespace weft
