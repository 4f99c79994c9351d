#include "weft/ops/rows/repeat_heads.h"

#include <algorithm>

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs& attrs, Specs in) {
  const TensorSpec& x = in[0];
  expect_dtype("x", x, f32);
  expect_form(x.shape.n_dims() == 3, "x", x, "[T, G, E]");
  const std::int64_t n = attrs.as<RepeatHeadsAttrs>().n_heads, g = x.shape[1].bound;
  if (n < g || n % g != 0) fail<ValueError>("n_heads must be a multiple of {}, got {}", g, n);
  return {f32, {x.shape[0], n, x.shape.last()}};
}

void reference(const Attrs&, Views in, View out) {
  const std::int64_t e = out.dim(2), n_times = out.dim(1) / in[0].dim(1);
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    const float* x = in[0].row<const float>(t);
    float* y = out.row<float>(t);
    for (std::int64_t h = 0; h < out.dim(1); ++h) std::copy_n(x + h / n_times * e, e, y + h * e);
  }
}

// Whole heads of y, because of the granule.
ColRange map_cols(const Attrs& attrs, Specs in, int, ColRange out) {
  const std::int64_t e = in[0].shape.last();
  const std::int64_t n_times = attrs.as<RepeatHeadsAttrs>().n_heads / in[0].shape[1].bound;
  return {out.begin / e / n_times * e, ((out.end / e - 1) / n_times + 1) * e};
}

Cuts cut_heads(const Attrs&, Specs in, const TensorSpec& out, const Cut& cut) {
  if (cut.axis != 1) return std::nullopt;
  const auto groups = cut.scaled(1, in[0].shape[1].bound, out.shape[1].bound);
  return groups ? Cuts({*groups}) : std::nullopt;
}

Attrs attrs_of_part(const Attrs&, const Cut& cut, int part) {
  return RepeatHeadsAttrs{cut.width(part)};
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

const OpDef kRepeatHeads{.name = "repeat_heads",
                         .inputs = kInputs,
                         .attrs = &kAttrsType<RepeatHeadsAttrs>,
                         .infer = infer,
                         .reference = reference,
                         .bound = exact,
                         .col_granule = last_dimension,
                         .map_cols = map_cols,
                         .cuts = {.inputs = cut_heads, .attrs = attrs_of_part}};

Tensor repeat_heads(Tensor x, std::int64_t n_heads, SourceLine where) {
  return add_node(kRepeatHeads, {x}, RepeatHeadsAttrs{n_heads}, where);
}

}  // namespace weft
