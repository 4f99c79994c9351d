#include "weft/ops/positions/rope.h"

#include <algorithm>

#include "weft/ops/cuts.h"

#include "op_support.h"

namespace weft {

using namespace ops;

std::string_view to_string(RopePairs pairs) {
  return pairs == RopePairs::halves ? "halves" : "adjacent";
}

namespace {

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &x = in[0], &angles = in[1];
  expect_dtype("x", x, f32);
  expect_form(x.shape.n_dims() == 3, "x", x, "[T, H, E]");
  expect_dtype("angles", angles, f32);
  const std::int64_t e = x.shape[2].bound;
  const bool fits = angles.shape.n_dims() == 2 && angles.shape[0] == x.shape[0] &&
                    angles.shape[1].bound % 2 == 0 && angles.shape[1].bound <= e;
  expect_form(fits, "angles", angles, "[{}, R] with R even and at most {}", to_string(x.shape[0]),
              e);
  return x;
}

// Calls f(row, column of a, column of b, cos, sin) for every pair of every head.
template <class F>
void for_each_pair(const Attrs& attrs, Views in, F f) {
  const View &x = in[0], &angles = in[1];
  const std::int64_t heads = x.dim(1), width = x.dim(2), half = angles.cols() / 2;
  const bool adjacent = attrs.as<RopeApplyAttrs>().pairs == RopePairs::adjacent;
  for (std::int64_t t = 0; t < x.rows(); ++t) {
    const float* rotation = angles.row<const float>(t);
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < half; ++i) {
        const std::int64_t a = h * width + (adjacent ? 2 * i : i);
        const std::int64_t b = adjacent ? a + 1 : a + half;
        f(t, a, b, static_cast<double>(rotation[2 * i]), static_cast<double>(rotation[2 * i + 1]));
      }
    }
  }
}

void reference(const Attrs& attrs, Views in, View out) {
  if (out.data != in[0].data) {
    for (std::int64_t t = 0; t < out.rows(); ++t) {
      std::copy_n(in[0].row<const float>(t), out.cols(), out.row<float>(t));
    }
  }
  for_each_pair(attrs, in,
                [&](std::int64_t t, std::int64_t i, std::int64_t j, double cos, double sin) {
                  const float* x = in[0].row<const float>(t);
                  const double a = x[i], b = x[j];
                  float* y = out.row<float>(t);
                  y[i] = static_cast<float>(a * cos - b * sin);
                  y[j] = static_cast<float>(a * sin + b * cos);
                });
}

// Two products and their sum: three roundings of the magnitudes. Elements that pass through are
// exact.
void bound(const Attrs& attrs, Views in, View bounds) {
  exact(attrs, in, bounds);
  for_each_pair(
      attrs, in, [&](std::int64_t t, std::int64_t i, std::int64_t j, double cos, double sin) {
        const float* x = in[0].row<const float>(t);
        const double a = std::fabs(x[i]), b = std::fabs(x[j]);
        float* y = bounds.row<float>(t);
        y[i] = bound_up(rounding(3) * (a * std::fabs(cos) + b * std::fabs(sin)) + 3 * kFlushed);
        y[j] = bound_up(rounding(3) * (a * std::fabs(sin) + b * std::fabs(cos)) + 3 * kFlushed);
      });
}

Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  return moves(in, out, extents, 2 * elems_at(in[1], extents) * in[0].shape[1].bound);
}

constexpr OpInput kInputs[] = {{"x"}, {"angles", Reach::row}};

}  // namespace

const OpDef kRope{.name = "rope",
                  .inputs = kInputs,
                  .attrs = &kAttrsType<RopeApplyAttrs>,
                  .infer = infer,
                  .reference = reference,
                  .bound = bound,
                  .cost = cost,
                  .col_granule = last_dimension,
                  .in_place_over = 0,
                  .cuts = {.inputs = cut_by_heads},
                  .positions = Positions::rotate};

Tensor rope(Tensor x, Tensor angles, RopePairs pairs, SourceLine where) {
  return add_node(kRope, {x, angles}, RopeApplyAttrs{pairs}, where);
}

}  // namespace weft
