#include "weft/ops/rows/weighted_sum.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &x = in[0], &weights = in[1];
  expect_dtype("x", x, f32);
  expect_form(x.shape.n_dims() == 3, "x", x, "[T, K, D]");
  expect_dtype("weights", weights, f32);
  expect_shape("weights", weights, {x.shape[0], x.shape[1]});
  return {f32, {x.shape[0], x.shape[2]}};
}

// Calls f(t, i, sum, magnitude) for every element, with magnitude the sum of |weight * x|.
template <class F>
void for_each_sum(Views in, View out, F f) {
  const std::int64_t d = out.cols(), n = in[1].cols();
  for (std::int64_t t = 0; t < out.rows(); ++t) {
    const float *x = in[0].row<const float>(t), *w = in[1].row<const float>(t);
    for (std::int64_t i = 0; i < d; ++i) {
      double sum = 0, magnitude = 0;
      for (std::int64_t k = 0; k < n; ++k) {
        const double product = static_cast<double>(w[k]) * x[k * d + i];
        sum += product;
        magnitude += std::fabs(product);
      }
      f(t, i, sum, magnitude);
    }
  }
}

void reference(const Attrs&, Views in, View out) {
  for_each_sum(in, out, [&](std::int64_t t, std::int64_t i, double sum, double) {
    out.row<float>(t)[i] = static_cast<float>(sum);
  });
}

// K products and K additions.
void bound(const Attrs&, Views in, View bounds) {
  const auto n = static_cast<double>(in[1].cols());
  for_each_sum(in, bounds, [&](std::int64_t t, std::int64_t i, double, double magnitude) {
    bounds.row<float>(t)[i] = bound_up(rounding(n + 1) * magnitude + n * kFlushed);
  });
}

Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  return moves(in, out, extents, elems_at(in[0], extents));
}

constexpr OpInput kInputs[] = {{"x", Reach::row}, {"weights", Reach::row}};

}  // namespace

const OpDef kWeightedSum{.name = "weighted_sum",
                         .inputs = kInputs,
                         .infer = infer,
                         .reference = reference,
                         .bound = bound,
                         .cost = cost,
                         .cuts = {.linear = LinearIn::first}};

Tensor weighted_sum(Tensor x, Tensor weights, SourceLine where) {
  return add_node(kWeightedSum, {x, weights}, {}, where);
}

}  // namespace weft
