#include "weft/ops/elementwise/lerp.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &a = in[0], &b = in[1], &w = in[2];
  expect_dtype("a", a, f32);
  const std::size_t n_dims = a.shape.n_dims();
  expect_form(n_dims == 2 || n_dims == 3, "a", a, "[T, D] or [T, H, D]");
  expect_dtype("b", b, f32);
  expect_shape("b", b, a.shape);
  expect_dtype("w", w, f32);
  const Dim d = a.shape[-1];
  if (w.shape == Shape{d}) return a;
  if (n_dims == 2) {
    expect_form(w.shape == a.shape, "w", w, "{} or [{}]", to_string(a.shape), d.bound);
    return a;
  }
  const bool single = a.shape[1].bound == 1;
  const Dim heads = single && w.shape.n_dims() >= 2 ? w.shape[-2] : a.shape[1];
  const Shape out{a.shape[0], heads, d};
  const std::string m = single ? "M" : to_string(heads);
  expect_form(w.shape == out || w.shape == Shape{heads, d}, "w", w,
              "[{0}, {1}, {2}], [{1}, {2}] or [{2}]", to_string(a.shape[0]), m, d.bound);
  return {f32, out};
}

// Calls f(a, b, w, y) with the values and the result of every element.
template <class F>
void each(Views in, View out, F f) {
  const std::int64_t d = out.dim(-1), width = in[0].cols();
  const bool by_row = in[2].n_dims == out.n_dims;
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    const float *a = in[0].row<const float>(t), *b = in[1].row<const float>(t);
    for (std::int64_t c = 0; c < out.cols(); ++c) {
      const float* w = in[2].row<const float>(by_row ? t : in[2].n_dims == 2 ? c / d : 0);
      f(a[c % width], b[c % width], w[by_row ? c : c % d], out.row<float>(t)[c]);
    }
  }
}

void reference(const Attrs&, Views in, View out) {
  each(in, out,
       [](double a, double b, double w, float& y) { y = static_cast<float>(a + (b - a) * w); });
}

// A difference, a product and a sum, and the rounding of the result.
void bound(const Attrs&, Views in, View bounds) {
  each(in, bounds, [](double a, double b, double w, float& y) {
    const double largest = std::fabs(a) + (std::fabs(a) + std::fabs(b)) * std::fabs(w);
    y = bound_up(rounding(4) * largest + 2 * kFlushed * (1 + std::fabs(w)));
  });
}

bool expands(Specs in, const Shape& out) {
  return in[0].shape != out;
}

Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  return moves(in, out, extents, elems_at(out, extents));
}

std::int64_t granule(const Attrs&, Specs in, const TensorSpec& out) {
  return expands(in, out.shape) ? out.shape.last() : 1;
}

ColRange map_cols(const Attrs& attrs, Specs in, int index, ColRange out) {
  const bool whole = index < 2 && expands(in, infer(attrs, in).shape);
  return whole ? ColRange{0, in[0].shape.cols()} : out;
}

constexpr OpInput kInputs[] = {{"a"}, {"b"}, {"w"}};

}  // namespace

const OpDef kLerp{.name = "lerp",
                  .inputs = kInputs,
                  .infer = infer,
                  .reference = reference,
                  .bound = bound,
                  .cost = cost,
                  .col_granule = granule,
                  .map_cols = map_cols};

Tensor lerp(Tensor a, Tensor b, Tensor w, SourceLine where) {
  return add_node(kLerp, {a, b, w}, {}, where);
}

}  // namespace weft
