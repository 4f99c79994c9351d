#include "weft/ops/norms/rms_norm.h"

#include "weft/ops/cuts.h"
#include "weft/ops/elementwise/mul.h"

#include "norms/rms.h"
#include "rows/row_groups.h"

namespace weft {
namespace ops {

TensorSpec infer_rms(const Attrs& attrs, Specs in) {
  expect_dtype("x", in[0], f32);
  expect_form(in[0].shape.n_dims() >= 1, "x", in[0], "[.., D]");
  expect_positive("eps", attrs.as<RmsNormAttrs>().eps);
  return in[0];
}

double rms_factor(const float* x, std::int64_t d, double eps) {
  double sum = 0;
  for (std::int64_t i = 0; i < d; ++i) sum += static_cast<double>(x[i]) * x[i];
  return 1 / std::sqrt(sum / static_cast<double>(d) + eps);
}

}  // namespace ops

namespace {

using namespace ops;

void reference(const Attrs& attrs, Views in, View out) {
  const double eps = attrs.as<RmsNormAttrs>().eps;
  const std::int64_t d = out.dim(-1);
  for_each_group(in[0], out, [&](const float* x, float* y) {
    const double factor = rms_factor(x, d, eps);
    for (std::int64_t i = 0; i < d; ++i) y[i] = static_cast<float>(x[i] * factor);
  });
}

void bound(const Attrs& attrs, Views in, View bounds) {
  const double eps = attrs.as<RmsNormAttrs>().eps;
  const std::int64_t d = bounds.dim(-1);
  for_each_group(in[0], bounds, [&](const float* x, float* b) {
    const double factor = rms_factor(x, d, eps);
    for (std::int64_t i = 0; i < d; ++i)
      b[i] = bound_up(rms_error(d) * std::fabs(x[i] * factor) + kFlushed);
  });
}

Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  return moves(in, out, extents, 2 * elems_at(out, extents));
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

const OpDef kRmsNorm{.name = "rms_norm",
                     .inputs = kInputs,
                     .attrs = &kAttrsType<RmsNormAttrs>,
                     .infer = infer_rms,
                     .reference = reference,
                     .bound = bound,
                     .cost = cost,
                     .col_granule = last_dimension,
                     .in_place_over = 0,
                     .cuts = {.inputs = cut_by_heads},
                     .positions = Positions::commute};

Tensor rms_norm(Tensor x, float eps, SourceLine where) {
  return add_node(kRmsNorm, {x}, RmsNormAttrs{eps}, where);
}

Tensor rms_norm(Tensor x, Tensor w, float eps, SourceLine where) {
  const std::string name(named_after(w));
  const Tensor unit =
      add_node(kRmsNorm, {x}, RmsNormAttrs{eps}, where, name.empty() ? "" : name + ".rms");
  return add_node(kMul, {unit, w}, {}, where, name);
}

}  // namespace weft
