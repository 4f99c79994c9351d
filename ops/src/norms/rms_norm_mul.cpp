#include "weft/ops/norms/rms_norm_mul.h"

#include "weft/ops/elementwise/mul.h"

#include "norms/rms.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  const TensorSpec out = infer_rms(attrs, in);
  expect_dtype("w", in[1], f32);
  expect_shape("w", in[1], {out.shape.last()});
  return out;
}

void reference(const Attrs& attrs, Views in, View out) {
  const double eps = attrs.as<RmsNormAttrs>().eps;
  const float* w = in[1].row<const float>(0);
  const std::int64_t d = out.dim(-1);
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    for (std::int64_t c = 0; c < out.cols(); c += d) {
      const float* x = in[0].row<const float>(r) + c;
      float* y = out.row<float>(r) + c;
      const double factor = rms_factor(x, d, eps);
      for (std::int64_t i = 0; i < d; ++i) y[i] = static_cast<float>(x[i] * factor * w[i]);
    }
  }
}

// As rms_norm; rms_error has room for the product with w, and a flushed product is scaled by w.
void bound(const Attrs& attrs, Views in, View bounds) {
  const double eps = attrs.as<RmsNormAttrs>().eps;
  const float* w = in[1].row<const float>(0);
  const std::int64_t d = bounds.dim(-1);
  for (std::int64_t r = 0; r < bounds.rows(); ++r) {
    for (std::int64_t c = 0; c < bounds.cols(); c += d) {
      const float* x = in[0].row<const float>(r) + c;
      float* b = bounds.row<float>(r) + c;
      const double factor = rms_factor(x, d, eps);
      for (std::int64_t i = 0; i < d; ++i) {
        const double y = x[i] * factor * w[i];
        b[i] = bound_up(rms_error(d) * std::fabs(y) + kFlushed * (1 + std::fabs(w[i])));
      }
    }
  }
}

Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  return moves(in, out, extents, 3 * elems_at(out, extents));
}

Tensor definition(const Attrs& attrs, std::span<const Tensor> in) {
  return mul(rms_norm(in[0], attrs.as<RmsNormAttrs>().eps), in[1]);
}

constexpr OpInput kInputs[] = {{"x"}, {"w"}};

}  // namespace

const OpDef kRmsNormMul{.name = "rms_norm_mul",
                        .inputs = kInputs,
                        .attrs = &kAttrsType<RmsNormAttrs>,
                        .infer = infer,
                        .reference = reference,
                        .bound = bound,
                        .cost = cost,
                        .col_granule = last_dimension,
                        .in_place_over = 0,
                        .definition = definition};

}  // namespace weft
