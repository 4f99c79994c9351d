#include "weft/ops/scale.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  expect_dtype("x", in[0], f32);
  expect_finite("factor", attrs.as<ScaleAttrs>().factor);
  return in[0];
}

void reference(const Attrs& attrs, Views in, View out) {
  const double factor = attrs.as<ScaleAttrs>().factor;
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    const float* x = in[0].row<const float>(r);
    float* y = out.row<float>(r);
    for (std::int64_t c = 0; c < out.cols(); ++c) y[c] = static_cast<float>(x[c] * factor);
  }
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

const OpDef kScale{.name = "scale",
                   .inputs = kInputs,
                   .attrs = &typeid(ScaleAttrs),
                   .infer = infer,
                   .reference = reference,
                   .in_place_over = 0};

Tensor scale(Tensor x, float factor, std::source_location where) {
  return add_node(kScale, {x}, ScaleAttrs{factor}, where);
}

}  // namespace weft
