#pragma once
// add and mul: two tensors of one shape, or a tensor and a vector along its last dimension.

#include "op_support.h"

namespace weft::ops {

inline TensorSpec infer_broadcast(const Attrs&, Specs in) {
  const TensorSpec &a = in[0], &b = in[1];
  expect_dtype("a", a, f32);
  expect_dtype("b", b, f32);
  const Shape vector{a.shape.last()};
  expect_form(b.shape == a.shape || b.shape == vector, "b", b, "{} or {}", to_string(a.shape),
              to_string(vector));
  return a;
}

template <class F>
void broadcast(Views in, View out, F f) {
  const View &a = in[0], &b = in[1];
  const bool same = b.rank == a.rank && b.dims == a.dims;
  const std::int64_t width = b.cols();
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    const float* x = a.row<const float>(r);
    const float* y = b.row<const float>(same ? r : 0);
    float* z = out.row<float>(r);
    for (std::int64_t c = 0; c < out.cols(); ++c) {
      z[c] = static_cast<float>(f(static_cast<double>(x[c]), static_cast<double>(y[c % width])));
    }
  }
}

}  // namespace weft::ops
