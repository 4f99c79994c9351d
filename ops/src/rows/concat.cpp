#include "weft/ops/rows/concat.h"

#include <algorithm>

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  std::int64_t width = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::string name = fmt::format("x_{}", i);
    expect_dtype(name, in[i], f32);
    const std::string rows = to_string(in[0].shape.rows());
    const bool fits = in[i].shape.n_dims() == 2 && in[i].shape[0] == in[0].shape[0];
    expect_form(fits, name, in[i], "[{}, N]", rows);
    width += in[i].shape[1].bound;
  }
  return {f32, {in[0].shape[0], width}};
}

void reference(const Attrs&, Views in, View out) {
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    float* y = out.row<float>(r);
    for (const View& x : in) y = std::copy_n(x.row<const float>(r), x.cols(), y);
  }
}

ColRange map_cols(const Attrs&, Specs in, int index, ColRange out) {
  std::int64_t begin = 0;
  for (int i = 0; i < index; ++i) begin += in[static_cast<std::size_t>(i)].shape[1].bound;
  const std::int64_t width = in[static_cast<std::size_t>(index)].shape[1].bound;
  return {std::clamp<std::int64_t>(out.begin - begin, 0, width),
          std::clamp<std::int64_t>(out.end - begin, 0, width)};
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

const OpDef kConcat{.name = "concat",
                    .inputs = kInputs,
                    .variadic = true,
                    .infer = infer,
                    .reference = reference,
                    .bound = exact,
                    .map_cols = map_cols,
                    .cuts = {.whole = true}};

Tensor concat(std::span<const Tensor> parts, SourceLine where) {
  return add_node(kConcat, parts, {}, where);
}

}  // namespace weft
