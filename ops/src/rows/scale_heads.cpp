#include "weft/ops/rows/scale_heads.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &x = in[0], &factors = in[1];
  expect_dtype("x", x, f32);
  expect_form(x.shape.n_dims() == 3, "x", x, "[T, H, E]");
  expect_dtype("factors", factors, f32);
  expect_shape("factors", factors, {x.shape[0], x.shape[1]});
  return x;
}

void reference(const Attrs&, Views in, View out) {
  const std::int64_t e = out.dim(2);
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    const float *x = in[0].row<const float>(t), *factors = in[1].row<const float>(t);
    float* y = out.row<float>(t);
    for (std::int64_t c = 0; c < out.cols(); ++c) y[c] = x[c] * factors[c / e];
  }
}

Cuts cut_heads(const Attrs&, Specs, const TensorSpec&, const Cut& cut) {
  return cut.axis == 1 ? Cuts({cut, cut}) : std::nullopt;
}

constexpr OpInput kInputs[] = {{"x"}, {"factors", Reach::row}};

}  // namespace

const OpDef kScaleHeads{.name = "scale_heads",
                        .inputs = kInputs,
                        .infer = infer,
                        .reference = reference,
                        .col_granule = last_dimension,
                        .in_place_over = 0,
                        .cuts = {.inputs = cut_heads, .linear = LinearIn::first}};

Tensor scale_heads(Tensor x, Tensor factors, SourceLine where) {
  return add_node(kScaleHeads, {x, factors}, {}, where);
}

}  // namespace weft
