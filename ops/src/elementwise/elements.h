#pragma once
// For ops that compute each element from the same element of their input.

#include <cstdint>

#include "op_support.h"

namespace weft::ops {

// y = f(x) for every element y of `out`, of type Y, and the same element x of `in`, of type X.
template <class X, class Y, class F>
void each_element(const View& in, const View& out, F f) {
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    const X* x = in.row<const X>(r);
    Y* y = out.row<Y>(r);
    for (std::int64_t c = 0; c < out.cols(); ++c) y[c] = f(x[c]);
  }
}

}  // namespace weft::ops
