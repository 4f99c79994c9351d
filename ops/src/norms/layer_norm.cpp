#include "weft/ops/norms/layer_norm.h"

#include <algorithm>

#include "weft/ops/cuts.h"

#include "rows/row_groups.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  expect_dtype("x", in[0], f32);
  expect_form(in[0].shape.n_dims() >= 1, "x", in[0], "[.., D]");
  expect_positive("eps", attrs.as<LayerNormAttrs>().eps);
  return in[0];
}

void reference(const Attrs& attrs, Views in, View out) {
  const double eps = attrs.as<LayerNormAttrs>().eps;
  const std::int64_t d = out.dim(-1);
  for_each_group(in[0], out, [&](const float* x, float* y) {
    const RowMoments m = moments_of({x, static_cast<std::size_t>(d)}, eps);
    for (std::int64_t i = 0; i < d; ++i) y[i] = static_cast<float>((x[i] - m.mean) * m.factor);
  });
}

// The mean of f32 sums is off by e = rounding(d + 1) * max |x|, and so is every difference from it.
// The mean of their squares s^2 moves by less than 2 s e + e^2, which moves the factor by a share
// of at most e * factor + (e * factor)^2 / 2, plus the roundings of rms_norm.
void bound(const Attrs& attrs, Views in, View bounds) {
  const double eps = attrs.as<LayerNormAttrs>().eps;
  const std::int64_t d = bounds.dim(-1);
  const auto n = static_cast<double>(d);
  for_each_group(in[0], bounds, [&](const float* x, float* b) {
    const RowMoments m = moments_of({x, static_cast<std::size_t>(d)}, eps);
    const double off = rounding(n + 2) * m.magnitude * m.factor;
    const double share = off + off * off + rounding(n / 2 + 8);
    for (std::int64_t i = 0; i < d; ++i) {
      const double y = std::fabs((x[i] - m.mean) * m.factor);
      b[i] = bound_up((y + off) * share + off + kFlushed);
    }
  });
}

Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  return moves(in, out, extents, 3 * elems_at(out, extents));
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

RowMoments moments_of(std::span<const float> x, double eps) {
  const auto d = static_cast<double>(x.size());
  RowMoments m;
  double sum = 0, squares = 0;
  for (const float v : x) {
    sum += v;
    m.magnitude = std::max(m.magnitude, std::fabs(static_cast<double>(v)));
  }
  m.mean = sum / d;
  for (const float v : x) squares += (v - m.mean) * (v - m.mean);
  m.factor = 1 / std::sqrt(squares / d + eps);
  return m;
}

const OpDef kLayerNorm{.name = "layer_norm",
                       .inputs = kInputs,
                       .attrs = &kAttrsType<LayerNormAttrs>,
                       .infer = infer,
                       .reference = reference,
                       .bound = bound,
                       .cost = cost,
                       .col_granule = last_dimension,
                       .in_place_over = 0,
                       .cuts = {.inputs = cut_by_heads}};

Tensor layer_norm(Tensor x, float eps, SourceLine where) {
  return add_node(kLayerNorm, {x}, LayerNormAttrs{eps}, where);
}

}  // namespace weft
