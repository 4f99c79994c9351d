#include "weft/ops/normalize_sum.h"

#include <algorithm>

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  expect_dtype("x", in[0], f32);
  expect_form(in[0].shape.rank() >= 1, "x", in[0], "[.., D]");
  expect_positive("min", attrs.as<NormalizeSumAttrs>().min);
  return in[0];
}

// Calls f(x, y, sum, magnitude) for every group of the last dimension, with magnitude = sum |x|.
template <class F>
void for_each_group(Views in, View out, F f) {
  const std::int64_t d = out.dim(-1);
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    for (std::int64_t c = 0; c < out.cols(); c += d) {
      const float* x = in[0].row<const float>(r) + c;
      double sum = 0, magnitude = 0;
      for (std::int64_t i = 0; i < d; ++i) {
        sum += x[i];
        magnitude += std::fabs(static_cast<double>(x[i]));
      }
      f(x, out.row<float>(r) + c, sum, magnitude);
    }
  }
}

void reference(const Attrs& attrs, Views in, View out) {
  const double min = attrs.as<NormalizeSumAttrs>().min;
  const std::int64_t d = out.dim(-1);
  for_each_group(in, out, [&](const float* x, float* y, double sum, double) {
    for (std::int64_t i = 0; i < d; ++i) y[i] = static_cast<float>(x[i] / std::max(sum, min));
  });
}

// The sum is off by at most e = rounding(d) times the sum of magnitudes, so that the divisor lies
// from max(divisor - e, min) to divisor + e.
void bound(const Attrs& attrs, Views in, View bounds) {
  const double min = attrs.as<NormalizeSumAttrs>().min;
  const std::int64_t d = bounds.dim(-1);
  for_each_group(in, bounds, [&](const float* x, float* b, double sum, double magnitude) {
    const double divisor = std::max(sum, min);
    const double e = rounding(static_cast<double>(d)) * magnitude;
    const double share =
        std::max(divisor / std::max(divisor - e, min) - 1, e / (divisor + e)) + rounding(2);
    for (std::int64_t i = 0; i < d; ++i) {
      b[i] = bound_up(std::fabs(x[i] / divisor) * share + kFlushed);
    }
  });
}

std::int64_t granule(const Attrs&, Specs in, const TensorSpec&) {
  return in[0].shape.last();
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

const OpDef kNormalizeSum{.name = "normalize_sum",
                          .inputs = kInputs,
                          .attrs = &typeid(NormalizeSumAttrs),
                          .infer = infer,
                          .reference = reference,
                          .bound = bound,
                          .col_granule = granule,
                          .in_place_over = 0};

Tensor normalize_sum(Tensor x, const NormalizeSumAttrs& attrs, std::source_location where) {
  return add_node(kNormalizeSum, {x}, attrs, where);
}

}  // namespace weft
