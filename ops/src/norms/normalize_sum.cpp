#include "weft/ops/norms/normalize_sum.h"

#include <algorithm>

#include "rows/row_groups.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  expect_dtype("x", in[0], f32);
  expect_form(in[0].shape.n_dims() >= 1, "x", in[0], "[.., D]");
  expect_positive("min", attrs.as<NormalizeSumAttrs>().min);
  return in[0];
}

struct Sum {
  Sum(const float* x, std::int64_t d) {
    for (std::int64_t i = 0; i < d; ++i) {
      sum += x[i];
      magnitude += std::fabs(static_cast<double>(x[i]));
    }
  }
  double sum = 0, magnitude = 0;  // sums of x and of |x|
};

void reference(const Attrs& attrs, Views in, View out) {
  const double min = attrs.as<NormalizeSumAttrs>().min;
  const std::int64_t d = out.dim(-1);
  for_each_group(in[0], out, [&](const float* x, float* y) {
    const double sum = Sum(x, d).sum;
    for (std::int64_t i = 0; i < d; ++i) y[i] = static_cast<float>(x[i] / std::max(sum, min));
  });
}

// The sum is off by at most e = rounding(d) times the sum of magnitudes, so that the divisor lies
// from max(divisor - e, min) to divisor + e.
void bound(const Attrs& attrs, Views in, View bounds) {
  const double min = attrs.as<NormalizeSumAttrs>().min;
  const std::int64_t d = bounds.dim(-1);
  for_each_group(in[0], bounds, [&](const float* x, float* b) {
    const auto [sum, magnitude] = Sum(x, d);
    const double divisor = std::max(sum, min);
    const double e = rounding(static_cast<double>(d)) * magnitude;
    const double share =
        std::max(divisor / std::max(divisor - e, min) - 1, e / (divisor + e)) + rounding(2);
    for (std::int64_t i = 0; i < d; ++i) {
      b[i] = bound_up(std::fabs(x[i] / divisor) * share + kFlushed);
    }
  });
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

const OpDef kNormalizeSum{.name = "normalize_sum",
                          .inputs = kInputs,
                          .attrs = &kAttrsType<NormalizeSumAttrs>,
                          .infer = infer,
                          .reference = reference,
                          .bound = bound,
                          .col_granule = last_dimension,
                          .in_place_over = 0,
                          .cuts = {.whole = true}};

Tensor normalize_sum(Tensor x, const NormalizeSumAttrs& attrs, SourceLine where) {
  return add_node(kNormalizeSum, {x}, attrs, where);
}

}  // namespace weft
