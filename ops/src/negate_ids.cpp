#include "weft/ops/negate_ids.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  expect_dtype("ids", in[0], i32);
  return in[0];
}

void reference(const Attrs&, Views in, View out) {
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    const std::int32_t* ids = in[0].row<const std::int32_t>(t);
    std::int32_t* y = out.row<std::int32_t>(t);
    for (std::int64_t k = 0; k < out.cols(); ++k) y[k] = -ids[k];
  }
}

constexpr OpInput kInputs[] = {{"ids"}};

}  // namespace

const OpDef kNegateIds{.name = "negate_ids",
                       .inputs = kInputs,
                       .infer = infer,
                       .reference = reference,
                       .bound = exact,
                       .in_place_over = 0};

Tensor negate_ids(Tensor ids, std::source_location where) {
  return add_node(kNegateIds, {ids}, {}, where);
}

}  // namespace weft
