#include "weft/ops/ids/gaussian_top_k.h"

#include <algorithm>

#include "rows/row_groups.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  expect_dtype("x", in[0], f32);
  const bool rows = in[0].shape.n_dims() >= 1 && in[0].shape[-1].bound >= 2;
  expect_form(rows, "x", in[0], "[.., D] with D at least 2");
  expect_finite("deviations", attrs.as<GaussianTopKAttrs>().deviations);
  return in[0];
}

struct Moments {
  Moments(const float* x, std::int64_t d) {
    for (std::int64_t i = 0; i < d; ++i) {
      mean += x[i] / static_cast<double>(d);
      magnitude = std::max(magnitude, std::fabs(static_cast<double>(x[i])));
    }
    double squares = 0;
    for (std::int64_t i = 0; i < d; ++i) squares += (x[i] - mean) * (x[i] - mean);
    deviation = std::sqrt(squares / static_cast<double>(d - 1));
  }
  double mean = 0, deviation = 0;
  double magnitude = 0;  // the largest |x|
};

void reference(const Attrs& attrs, Views in, View out) {
  const double deviations = attrs.as<GaussianTopKAttrs>().deviations;
  const std::int64_t d = out.dim(-1);
  for_each_group(in[0], out, [&](const float* x, float* y) {
    const Moments m(x, d);
    const double cutoff = m.mean + deviations * m.deviation;
    for (std::int64_t i = 0; i < d; ++i) y[i] = static_cast<float>(std::max(x[i] - cutoff, 0.0));
  });
}

// The mean is off by e = rounding(d + 1) * max |x|, and so is every difference from it, which moves
// the root of the sum of their squares by at most e * sqrt(d); its own roundings are those of
// rms_norm. Squares below FLT_MIN may be lost.
void bound(const Attrs& attrs, Views in, View bounds) {
  const double deviations = std::fabs(attrs.as<GaussianTopKAttrs>().deviations);
  const std::int64_t d = bounds.dim(-1);
  const auto n = static_cast<double>(d);
  for_each_group(in[0], bounds, [&](const float* x, float* b) {
    const Moments m(x, d);
    const double off = rounding(n + 2) * m.magnitude;
    const double spread =
        off * std::sqrt(n / (n - 1)) + rounding(n / 2 + 8) * m.deviation + std::sqrt(2 * kFlushed);
    const double sum = std::fabs(m.mean) + deviations * m.deviation;
    for (std::int64_t i = 0; i < d; ++i) {
      const double terms = sum + std::fabs(static_cast<double>(x[i]));
      b[i] = bound_up(off + deviations * spread + rounding(4) * terms + kFlushed);
    }
  });
}

Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  return moves(in, out, extents, 3 * elems_at(out, extents));
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

const OpDef kGaussianTopK{.name = "gaussian_top_k",
                          .inputs = kInputs,
                          .attrs = &kAttrsType<GaussianTopKAttrs>,
                          .infer = infer,
                          .reference = reference,
                          .bound = bound,
                          .cost = cost,
                          .col_granule = last_dimension,
                          .in_place_over = 0,
                          .cuts = {.whole = true}};

Tensor gaussian_top_k(Tensor x, float deviations, SourceLine where) {
  return add_node(kGaussianTopK, {x}, GaussianTopKAttrs{deviations}, where);
}

}  // namespace weft
