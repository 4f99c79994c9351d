#pragma once
// add and mul: two tensors of one shape, or a tensor and what every row, every group of its last
// dimension or every element of it shares.

#include "op_support.h"

namespace weft {

inline TensorSpec infer_broadcast(const Attrs&, Specs in) {
  const TensorSpec &a = in[0], &b = in[1];
  expect_dtype("a", a, f32);
  expect_dtype("b", b, f32);
  const Shape vector{a.shape.last()};
  const bool row = a.shape.rank() == 3 && b.shape == Shape{a.shape[1], a.shape[2]};
  expect_form(b.shape == a.shape || b.shape == vector || b.shape == Shape{1} || row, "b", b,
              "{} or {}", to_string(a.shape), to_string(vector));
  return a;
}

template <class F>
void broadcast(Views in, View out, F f) {
  const View &a = in[0], &b = in[1];
  const bool same = b.rank == a.rank && b.dims == a.dims;
  const std::int64_t width = b.cols(), n_groups = b.rows();
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    const float* x = a.row<const float>(r);
    float* z = out.row<float>(r);
    for (std::int64_t c = 0; c < out.cols(); ++c) {
      const float* y = b.row<const float>(same ? r : c / width % n_groups);
      z[c] = static_cast<float>(f(x[c], y[c % width]));
    }
  }
}

}  // namespace weft
