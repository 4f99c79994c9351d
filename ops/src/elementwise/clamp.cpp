#include "weft/ops/elementwise/clamp.h"

#include <algorithm>

#include "elementwise/elements.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  expect_dtype("x", in[0], f32);
  const auto& a = attrs.as<ClampAttrs>();
  if (!(a.low <= a.high))
    fail<ValueError>("low must be at most high, got {} and {}", a.low, a.high);
  return in[0];
}

void reference(const Attrs& attrs, Views in, View out) {
  const auto& a = attrs.as<ClampAttrs>();
  each_element<float, float>(in[0], out,
                             [&](float x) { return std::min(std::max(x, a.low), a.high); });
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

const OpDef kClamp{.name = "clamp",
                   .inputs = kInputs,
                   .attrs = &kAttrsType<ClampAttrs>,
                   .infer = infer,
                   .reference = reference,
                   .bound = exact,
                   .in_place_over = 0};

Tensor clamp(Tensor x, float low, float high, SourceLine where) {
  return add_node(kClamp, {x}, ClampAttrs{low, high}, where);
}

}  // namespace weft
