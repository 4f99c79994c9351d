#include "weft/ops/ids/negate_ids.h"

#include "elementwise/elements.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  expect_dtype("ids", in[0], i32);
  return in[0];
}

void reference(const Attrs&, Views in, View out) {
  each_element<std::int32_t, std::int32_t>(in[0], out, [](std::int32_t id) { return -id; });
}

constexpr OpInput kInputs[] = {{"ids"}};

}  // namespace

const OpDef kNegateIds{.name = "negate_ids",
                       .inputs = kInputs,
                       .infer = infer,
                       .reference = reference,
                       .bound = exact,
                       .in_place_over = 0,
                       .cuts = {.whole = true}};

Tensor negate_ids(Tensor ids, SourceLine where) {
  return add_node(kNegateIds, {ids}, {}, where);
}

}  // namespace weft
