#include "weft/ops/rows/pad_heads.h"

#include <algorithm>

#include "weft/ops/cuts.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  const TensorSpec& x = in[0];
  const std::int64_t width = attrs.as<PadHeadsAttrs>().width;
  expect_dtype("x", x, f32);
  expect_form(x.shape.n_dims() == 3, "x", x, "[T, H, E]");
  if (width < x.shape.last())
    fail<ValueError>("width must be at least {}, got {}", x.shape.last(), width);
  return {f32, {x.shape[0], x.shape[1], width}};
}

void reference(const Attrs&, Views in, View out) {
  const std::int64_t e = in[0].dim(2), width = out.dim(2);
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    for (std::int64_t h = 0; h < out.dim(1); ++h) {
      float* const y = out.row<float>(t) + h * width;
      std::copy_n(in[0].row<const float>(t) + h * e, e, y);
      std::fill(y + e, y + width, 0.0f);
    }
  }
}

constexpr OpInput kInputs[] = {{"x", Reach::row}};

}  // namespace

const OpDef kPadHeads{.name = "pad_heads",
                      .inputs = kInputs,
                      .attrs = &kAttrsType<PadHeadsAttrs>,
                      .infer = infer,
                      .reference = reference,
                      .bound = exact,
                      .col_granule = last_dimension,
                      .cuts = {.inputs = cut_by_heads, .linear = LinearIn::first},
                      .positions = Positions::commute};

Tensor pad_heads(Tensor x, std::int64_t width, SourceLine where) {
  return add_node(kPadHeads, {x}, PadHeadsAttrs{width}, where);
}

}  // namespace weft
