#include "weft/ops/ids/remainder_ids.h"

#include "elementwise/elements.h"

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
  each_element<std::int32_t, std::int32_t>(in[0], out,
                                           [=](std::int32_t id) { return id % divisor; });
}

constexpr OpInput kInputs[] = {{"ids"}};

}  // namespace

const OpDef kRemainderIds{.name = "remainder_ids",
                          .inputs = kInputs,
                          .attrs = &kAttrsType<RemainderIdsAttrs>,
                          .infer = infer,
                          .reference = reference,
                          .bound = exact,
                          .in_place_over = 0,
                          .cuts = {.whole = true}};

Tensor remainder_ids(Tensor ids, std::int32_t divisor, SourceLine where) {
  return add_node(kRemainderIds, {ids}, RemainderIdsAttrs{divisor}, where);
}

}  // namespace weft
