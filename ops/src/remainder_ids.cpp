#include "weft/ops/remainder_ids.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  expect_dtype("ids", in[0], i32);
  expect_positive("divisor", attrs.as<RemainderIdsAttrs>().divisor);
  return in[0];
}

void reference(const Attrs& attrs, Views in, View out) {
  const std::int32_t divisor = attrs.as<RemainderIdsAttrs>().divisor;
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    const std::int32_t* ids = in[0].row<const std::int32_t>(t);
    std::int32_t* y = out.row<std::int32_t>(t);
    for (std::int64_t k = 0; k < out.cols(); ++k) y[k] = ids[k] % divisor;
  }
}

constexpr OpInput kInputs[] = {{"ids"}};

}  // namespace

const OpDef kRemainderIds{.name = "remainder_ids",
                          .inputs = kInputs,
                          .attrs = &typeid(RemainderIdsAttrs),
                          .infer = infer,
                          .reference = reference,
                          .bound = exact,
                          .in_place_over = 0};

Tensor remainder_ids(Tensor ids, std::int32_t divisor, std::source_location where) {
  return add_node(kRemainderIds, {ids}, RemainderIdsAttrs{divisor}, where);
}

}  // namespace weft
