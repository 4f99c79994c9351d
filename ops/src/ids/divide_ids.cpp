#include "weft/ops/ids/divide_ids.h"

#include "elementwise/elements.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  expect_dtype("ids", in[0], i32);
  expect_form(in[0].shape.n_dims() == 2, "ids", in[0], "[T, K]");
  expect_positive("divisor", attrs.as<DivideIdsAttrs>().divisor);
  return in[0];
}

void reference(const Attrs& attrs, Views in, View out) {
  const std::int32_t divisor = attrs.as<DivideIdsAttrs>().divisor;
  each_element<std::int32_t, std::int32_t>(in[0], out,
                                           [=](std::int32_t id) { return id / divisor; });
}

constexpr OpInput kInputs[] = {{"ids"}};

}  // namespace

const OpDef kDivideIds{.name = "divide_ids",
                       .inputs = kInputs,
                       .attrs = &kAttrsType<DivideIdsAttrs>,
                       .infer = infer,
                       .reference = reference,
                       .bound = exact,
                       .in_place_over = 0,
                       .cuts = {.whole = true}};

Tensor divide_ids(Tensor ids, std::int32_t divisor, SourceLine where) {
  return add_node(kDivideIds, {ids}, DivideIdsAttrs{divisor}, where);
}

}  // namespace weft
