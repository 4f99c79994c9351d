#include "weft/ops/elementwise/negate.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  expect_dtype("x", in[0], f32);
  return in[0];
}

void reference(const Attrs&, Views in, View out) {
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    for (std::int64_t c = 0; c < out.cols(); ++c)
      out.row<float>(r)[c] = -in[0].row<const float>(r)[c];
  }
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

const OpDef kNegate{.name = "negate",
                    .inputs = kInputs,
                    .infer = infer,
                    .reference = reference,
                    .bound = exact,
                    .in_place_over = 0};

Tensor negate(Tensor x, SourceLine where) {
  return add_node(kNegate, {x}, {}, where);
}

}  // namespace weft
