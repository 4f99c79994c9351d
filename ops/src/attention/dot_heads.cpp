#include "weft/ops/attention/dot_heads.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &a = in[0], &b = in[1];
  expect_dtype("a", a, f32);
  expect_form(a.shape.n_dims() == 3, "a", a, "[T, H, E]");
  expect_dtype("b", b, f32);
  expect_shape("b", b, a.shape);
  return {f32, {a.shape[0], a.shape[1]}};
}

void reference(const Attrs&, Views in, View out) {
  const std::int64_t e = in[0].dim(2);
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    const float *a = in[0].row<const float>(t), *b = in[1].row<const float>(t);
    for (std::int64_t h = 0; h < out.cols(); ++h) {
      double sum = 0;
      for (std::int64_t i = h * e; i < (h + 1) * e; ++i) sum += double{a[i]} * b[i];
      out.row<float>(t)[h] = static_cast<float>(sum);
    }
  }
}

// E products and E sums, and the rounding of the result.
void bound(const Attrs&, Views in, View bounds) {
  const std::int64_t e = in[0].dim(2);
  const auto n = static_cast<double>(e);
  for (std::int64_t t = 0; t < bounds.rows(); ++t) {
    const float *a = in[0].row<const float>(t), *b = in[1].row<const float>(t);
    for (std::int64_t h = 0; h < bounds.cols(); ++h) {
      double sum = 0;
      for (std::int64_t i = h * e; i < (h + 1) * e; ++i) sum += std::fabs(double{a[i]} * b[i]);
      bounds.row<float>(t)[h] = bound_up(rounding(n + 1) * sum + 2 * n * kFlushed);
    }
  }
}

Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  return moves(in, out, extents, elems_at(in[0], extents));
}

ColRange map_cols(const Attrs&, Specs in, int, ColRange out) {
  const std::int64_t e = in[0].shape.last();
  return {out.begin * e, out.end * e};
}

constexpr OpInput kInputs[] = {{"a"}, {"b"}};

}  // namespace

const OpDef kDotHeads{.name = "dot_heads",
                      .inputs = kInputs,
                      .infer = infer,
                      .reference = reference,
                      .bound = bound,
                      .cost = cost,
                      .map_cols = map_cols};

Tensor dot_heads(Tensor a, Tensor b, SourceLine where) {
  return add_node(kDotHeads, {a, b}, {}, where);
}

}  // namespace weft
