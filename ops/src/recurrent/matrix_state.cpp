#include "recurrent/matrix_state.h"

namespace weft::ops {

void expect_decay(const TensorSpec& decay, const Shape& y, std::int64_t n) {
  expect_dtype("decay", decay, f32);
  const Shape &s = decay.shape, per_head{y[0], y[1]}, per_row{y[0], y[1], n};
  expect_form(s == per_head || s == per_row, "decay", decay, "{} or {}", to_string(per_head),
              to_string(per_row));
}

const float* decay_of(const View& decay, std::int64_t t, std::int64_t h) {
  return decay.row<const float>(t) + h * (decay.n_dims == 3 ? decay.dim(2) : 1);
}

ColRange map_to_heads(const Attrs&, Specs in, int index, ColRange out) {
  const Shape& input = in[static_cast<std::size_t>(index)].shape;
  const Shape& state = in[in.size() - 4].shape;  // [R, H, N, P]
  const std::int64_t n_groups = input[1].bound, n_heads = state[1].bound;
  const std::int64_t step = state.last() * (n_heads / n_groups), part = input.cols() / n_groups;
  return {out.begin / step * part, (out.end + step - 1) / step * part};
}

}  // namespace weft::ops
