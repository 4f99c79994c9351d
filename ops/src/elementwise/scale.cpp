#include "weft/ops/elementwise/scale.h"

#include "elementwise/elements.h"

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
  each_element<float, float>(in[0], out, [=](float x) { return static_cast<float>(x * factor); });
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

const OpDef kScale{.name = "scale",
                   .inputs = kInputs,
                   .attrs = &kAttrsType<ScaleAttrs>,
                   .infer = infer,
                   .reference = reference,
                   .in_place_over = 0,
                   .cuts = {.linear = LinearIn::first},
                   .positions = Positions::commute};

Tensor scale(Tensor x, float factor, SourceLine where) {
  return add_node(kScale, {x}, ScaleAttrs{factor}, where);
}

}  // namespace weft
