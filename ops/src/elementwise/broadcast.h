#pragma once
// add and mul: two tensors of one shape, or a tensor and a vector or scalar that all its rows, all
// groups of its last dimension or all its elements share.

#include "op_support.h"

namespace weft::ops {

inline TensorSpec infer_broadcast(const Attrs&, Specs in) {
  const TensorSpec &a = in[0], &b = in[1];
  expect_dtype("a", a, f32);
  expect_dtype("b", b, f32);
  const Shape& shape = b.shape;
  const std::int64_t d = a.shape.last();
  const bool vector = shape == Shape{d} || shape == Shape{1};
  const bool by_head = a.shape.n_dims() == 3 && shape.n_dims() == 2 && shape[0] == a.shape[1] &&
                       (shape[1].bound == d || shape[1].bound == 1);
  if (shape == a.shape || vector || by_head) return a;
  const std::string heads =
      a.shape.n_dims() == 3 ? fmt::format("[{0}, {1}], [{0}, 1], ", a.shape[1].bound, d) : "";
  expect_form(false, "b", b, "{}, {}[{}] or [1]", to_string(a.shape), heads, d);
  return a;
}

template <class F>
void broadcast(Views in, View out, F f) {
  const View &a = in[0], &b = in[1];
  const bool same = b.n_dims == a.n_dims && b.dims == a.dims;
  const std::int64_t d = a.dim(-1), width = b.cols();
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    const float* x = a.row<const float>(r);
    float* z = out.row<float>(r);
    for (std::int64_t c = 0; c < out.cols(); ++c) {
      const float* y = b.row<const float>(same ? r : c / d % b.rows());
      z[c] = static_cast<float>(f(x[c], y[same ? c : width == 1 ? 0 : c % d]));
    }
  }
}

}  // namespace weft::ops
