#include "weft/ops/round_to_ids.h"

#include "op_support.h"
#include "rounded_id.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  const std::int32_t max = attrs.as<RoundToIdsAttrs>().max;
  expect_dtype("x", in[0], f32);
  expect_form(in[0].shape.rank() == 2, "x", in[0], "[T, K]");
  if (max < 0) fail<ValueError>("max must be at least 0, got {}", max);
  return {i32, in[0].shape};
}

void reference(const Attrs& attrs, Views in, View out) {
  const std::int32_t max = attrs.as<RoundToIdsAttrs>().max;
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    const float* x = in[0].row<const float>(t);
    std::int32_t* y = out.row<std::int32_t>(t);
    for (std::int64_t k = 0; k < out.cols(); ++k) y[k] = rounded_id(x[k], max);
  }
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

const OpDef kRoundToIds{.name = "round_to_ids",
                        .inputs = kInputs,
                        .attrs = &typeid(RoundToIdsAttrs),
                        .infer = infer,
                        .reference = reference,
                        .bound = exact};

Tensor round_to_ids(Tensor x, std::int32_t max, std::source_location where) {
  return add_node(kRoundToIds, {x}, RoundToIdsAttrs{max}, where);
}

}  // namespace weft
