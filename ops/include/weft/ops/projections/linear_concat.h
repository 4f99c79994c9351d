#pragma once
// Several projections of the same input as one node (Q, K and V):
//   y[t, :] = [x[t] w_0^T + b_0 | x[t] w_1^T + b_1 | ...]
//   x [T, K] f32 or Q8A     w_i [N_i, K] any format, formats may differ
//   b_i [N_i] f32, all or none     y [T, N_0 + N_1 + ...] f32
// Made by the pass fuse_qkv; equals linear(x, w_i, b_i) side by side. Each part of a row is split
// among lanes on its own.

#include <cstdint>
#include <tuple>

#include "weft/graph/tensor.h"

namespace weft {

struct LinearConcatAttrs {
  std::int32_t count = 0;  // number of weights; inputs are x, w_0 .. w_count-1, then the biases
  bool has_bias = false;
  static constexpr auto fields() {
    return std::tuple{field("count", &LinearConcatAttrs::count),
                      field("has_bias", &LinearConcatAttrs::has_bias)};
  }
};

extern const OpDef kLinearConcat;

}  // namespace weft
