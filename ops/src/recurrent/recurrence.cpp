#include "weft/ops/recurrent/recurrence.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

bool same_behind_first(const Shape& a, const Shape& b) {
  return a.n_dims() == b.n_dims() && std::equal(a.begin() + 1, a.end(), b.begin() + 1);
}

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &a = in[0], &x = in[1], &state = in[2];
  expect_dtype("a", a, f32);
  expect_form(a.shape.n_dims() >= 2, "a", a, "[T, ..]");
  expect_dtype("x", x, f32);
  expect_shape("x", x, a.shape);
  expect_dtype("state", state, f32);
  const bool fits = same_behind_first(a.shape, state.shape) && !state.shape[0].varies();
  expect_form(fits, "state", state, "[R, ..] like {}", to_string(a.shape));
  for (const auto& [name, spec] : {std::pair{"from", in[3]}, {"before", in[4]}}) {
    expect_dtype(name, spec, i32);
    expect_shape(name, spec, {a.shape[0]});
  }
  return x;
}

// The previous value of one element of one token.
double start(Views in, const View& y, std::int64_t t, std::int64_t i) {
  const std::int32_t from = in[3].row<const std::int32_t>(0)[t];
  const std::int32_t before = in[4].row<const std::int32_t>(0)[t];
  if (before >= 0) return y.row<const float>(before)[i];
  return from >= 0 ? in[2].row<const float>(from)[i] : 0;
}

void reference(const Attrs&, Views in, View y) {
  for (std::int64_t t = 0; t < y.rows(); ++t) {
    const float *a = in[0].row<const float>(t), *x = in[1].row<const float>(t);
    for (std::int64_t i = 0; i < y.cols(); ++i)
      y.row<float>(t)[i] = static_cast<float>(a[i] * start(in, y, t, i) + x[i]);
  }
}

// A product and a sum are two roundings; the error of the previous value is multiplied by |a|.
void bound(const Attrs& attrs, Views in, View bounds) {
  std::vector<float> memory(static_cast<std::size_t>(bounds.rows() * bounds.cols()));
  View y = bounds;
  y.data = reinterpret_cast<std::byte*>(memory.data());
  y.row_stride = bounds.cols() * static_cast<std::int64_t>(sizeof(float));
  reference(attrs, in, y);
  const std::int32_t* before = in[4].row<const std::int32_t>(0);
  for (std::int64_t t = 0; t < y.rows(); ++t) {
    const float *a = in[0].row<const float>(t), *x = in[1].row<const float>(t);
    for (std::int64_t i = 0; i < y.cols(); ++i) {
      const double factor = std::fabs(a[i]);
      const double largest = factor * std::fabs(start(in, y, t, i)) + std::fabs(x[i]);
      const double off = before[t] >= 0 ? double{bounds.row<float>(before[t])[i]} : 0.0;
      bounds.row<float>(t)[i] =
          bound_up(factor * off + 2 * rounding(2) * largest + 2 * kFlushed * (1 + factor));
    }
  }
}

Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  const std::int64_t n = elems_at(out, extents);
  // A row of the state for each token, at most.
  const std::int64_t starts = bytes_at(out, extents);
  return {.bytes_read = bytes_at(in[0], extents) + bytes_at(in[1], extents) + starts,
          .bytes_written = bytes_at(out, extents),
          .multiply_adds = n};
}

constexpr OpInput kInputs[] = {{"a", Reach::col},
                               {"x", Reach::col},
                               {"state", Reach::col},
                               {"from", Reach::all},
                               {"before", Reach::all}};

}  // namespace

const OpDef kRecurrence{.name = "recurrence",
                        .inputs = kInputs,
                        .infer = infer,
                        .reference = reference,
                        .bound = bound,
                        .cost = cost,
                        .splits_rows = false};

Tensor recurrence(Tensor a, Tensor x, Tensor state, Tensor from, Tensor before, SourceLine where) {
  return add_node(kRecurrence, {a, x, state, from, before}, {}, where);
}

}  // namespace weft
