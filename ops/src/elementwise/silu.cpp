#include "weft/ops/elementwise/silu.h"

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
    const float* x = in[0].row<const float>(r);
    float* y = out.row<float>(r);
    for (std::int64_t c = 0; c < out.cols(); ++c) y[c] = static_cast<float>(silu_of(x[c]));
  }
}

void bound(const Attrs&, Views in, View bounds) {
  for (std::int64_t r = 0; r < bounds.rows(); ++r) {
    const float* x = in[0].row<const float>(r);
    float* b = bounds.row<float>(r);
    for (std::int64_t c = 0; c < bounds.cols(); ++c) b[c] = bound_up(silu_error(silu_of(x[c])));
  }
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

const OpDef kSilu{.name = "silu",
                  .inputs = kInputs,
                  .infer = infer,
                  .reference = reference,
                  .bound = bound,
                  .in_place_over = 0};

Tensor silu(Tensor x, SourceLine where) {
  return add_node(kSilu, {x}, {}, where);
}

}  // namespace weft
