#include "weft/ops/rows/slice_heads.h"

#include <algorithm>

#include "weft/ops/cuts.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  const TensorSpec& x = in[0];
  const auto& a = attrs.as<SliceHeadsAttrs>();
  expect_dtype("x", x, f32);
  expect_form(x.shape.n_dims() == 3, "x", x, "[T, H, E]");
  const std::int64_t e = x.shape.last();
  if (a.begin < 0 || a.begin >= a.end || a.end > e)
    fail<ValueError>("elements [{}, {}) must be a part of [0, {})", a.begin, a.end, e);
  return {f32, {x.shape[0], x.shape[1], a.end - a.begin}};
}

void reference(const Attrs& attrs, Views in, View out) {
  const std::int64_t begin = attrs.as<SliceHeadsAttrs>().begin;
  const std::int64_t e = in[0].dim(2), n = out.dim(2);
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    for (std::int64_t h = 0; h < out.dim(1); ++h)
      std::copy_n(in[0].row<const float>(t) + h * e + begin, n, out.row<float>(t) + h * n);
  }
}

constexpr OpInput kInputs[] = {{"x", Reach::row}};

}  // namespace

const OpDef kSliceHeads{.name = "slice_heads",
                        .inputs = kInputs,
                        .attrs = &kAttrsType<SliceHeadsAttrs>,
                        .infer = infer,
                        .reference = reference,
                        .bound = exact,
                        .col_granule = last_dimension,
                        .cuts = {.inputs = cut_by_heads}};

Tensor slice_heads(Tensor x, std::int64_t begin, std::int64_t end, SourceLine where) {
  return add_node(kSliceHeads, {x}, SliceHeadsAttrs{begin, end}, where);
}

}  // namespace weft
