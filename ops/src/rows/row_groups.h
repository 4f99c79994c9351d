#pragma once
// For ops that compute each group of the last dimension on its own: [.., D] f32 -> [.., D] f32.

#include <cstdint>

#include "op_support.h"

namespace weft::ops {

// Calls f(const float* x, float* y) for every group of `out` and the same elements of `in`.
template <class F>
void for_each_group(const View& in, const View& out, F f) {
  const std::int64_t d = out.dim(-1);
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    for (std::int64_t c = 0; c < out.cols(); c += d)
      f(in.row<const float>(r) + c, out.row<float>(r) + c);
  }
}

}  // namespace weft::ops
