#include "weft/ops/elementwise/xielu.h"

#include <algorithm>

#include "elementwise/elements.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  const auto& a = attrs.as<XieluAttrs>();
  expect_dtype("x", in[0], f32);
  expect_finite("positive", a.positive);
  expect_finite("negative", a.negative);
  expect_finite("beta", a.beta);
  expect_finite("limit", a.limit);
  return in[0];
}

void reference(const Attrs& attrs, Views in, View out) {
  const auto& a = attrs.as<XieluAttrs>();
  each_element<float, float>(in[0], out, [&](double x) {
    const double y = x > 0
                         ? a.positive * x * x + a.beta * x
                         : a.negative * (std::expm1(std::min<double>(x, a.limit)) - x) + a.beta * x;
    return static_cast<float>(y);
  });
}

// Four roundings of the terms of a sum; below 0 also those of an expm1 good to 2 ulp and of its
// difference from x. Products that are flushed may be multiplied again.
void bound(const Attrs& attrs, Views in, View bounds) {
  const auto& a = attrs.as<XieluAttrs>();
  each_element<float, float>(in[0], bounds, [&](double x) {
    const double e = x > 0 ? 0 : std::expm1(std::min<double>(x, a.limit));
    const double factor = std::fabs(static_cast<double>(x > 0 ? a.positive : a.negative));
    const double curve = factor * (x > 0 ? x * x : std::fabs(e) + std::fabs(x));
    const double flushed = kFlushed * (2 + factor + std::fabs(x));
    return bound_up(rounding(8) * (curve + std::fabs(a.beta * x)) + flushed);
  });
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

const OpDef kXielu{.name = "xielu",
                   .inputs = kInputs,
                   .attrs = &kAttrsType<XieluAttrs>,
                   .infer = infer,
                   .reference = reference,
                   .bound = bound,
                   .in_place_over = 0};

Tensor xielu(Tensor x, const XieluAttrs& attrs, SourceLine where) {
  return add_node(kXielu, {x}, attrs, where);
}

}  // namespace weft
