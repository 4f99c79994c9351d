#include "weft/ops/ids/round_to_ids.h"

#include "elementwise/elements.h"
#include "ids/rounded_id.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  const std::int32_t max = attrs.as<RoundToIdsAttrs>().max;
  expect_dtype("x", in[0], f32);
  expect_form(in[0].shape.n_dims() == 2, "x", in[0], "[T, K]");
  if (max < 0) fail<ValueError>("max must be at least 0, got {}", max);
  return {i32, in[0].shape};
}

void reference(const Attrs& attrs, Views in, View out) {
  const std::int32_t max = attrs.as<RoundToIdsAttrs>().max;
  each_element<float, std::int32_t>(in[0], out, [=](float x) { return rounded_id(x, max); });
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

const OpDef kRoundToIds{.name = "round_to_ids",
                        .inputs = kInputs,
                        .attrs = &kAttrsType<RoundToIdsAttrs>,
                        .infer = infer,
                        .reference = reference,
                        .bound = exact,
                        .cuts = {.whole = true}};

Tensor round_to_ids(Tensor x, std::int32_t max, SourceLine where) {
  return add_node(kRoundToIds, {x}, RoundToIdsAttrs{max}, where);
}

}  // namespace weft
