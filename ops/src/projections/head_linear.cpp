#include "weft/ops/projections/head_linear.h"

#include "projections/projection.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  const TensorSpec &x = in[0], &w = in[1];
  expect_dtype("x", x, f32);
  expect_form(x.shape.n_dims() == 3, "x", x, "[T, H, K]");
  expect_format("w", w);
  const std::int64_t heads = x.shape[1].bound, k = x.shape.last();
  const bool fits = w.shape.n_dims() == 3 && w.shape[0].bound == heads && w.shape.last() == k;
  expect_form(fits, "w", w, "[{}, N, {}]", heads, k);
  if (k % w.dtype.block_elems() != 0)
    fail<ShapeError>("K must be a multiple of {} for {}, got {}", w.dtype.block_elems(),
                     w.dtype.name(), k);
  return {f32, {x.shape[0], x.shape[1], w.shape[1]}};
}

// Calls f(y, x, w) for every head of every token: where the N results go, K values of x, N rows of
// w.
template <class F>
void for_each_head(Views in, View out, F f) {
  const std::int64_t k = in[0].dim(2), n = out.dim(2);
  RowReader matrices(in[1]);
  for (std::int64_t h = 0; h < out.dim(1); ++h) {
    const float* w = matrices[h];
    for (std::int64_t t = 0; t < out.rows(); ++t)
      f(out.row<float>(t) + h * n, in[0].row<const float>(t) + h * k, w);
  }
}

void reference(const Attrs&, Views in, View out) {
  const std::int64_t k = in[0].dim(2), n = out.dim(2);
  for_each_head(in, out, [&](float* y, const float* x, const float* w) {
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < k; ++j) sum += static_cast<double>(x[j]) * w[i * k + j];
      y[i] = static_cast<float>(sum);
    }
  });
}

void bound(const Attrs&, Views in, View bounds) {
  const std::int64_t k = in[0].dim(2), n = bounds.dim(2);
  const bool quantized = in[1].dtype.is_quantized();
  for_each_head(in, bounds, [&](float* b, const float* x, const float* w) {
    for (std::int64_t i = 0; i < n; ++i)
      b[i] = bound_up(projection_error(x, used_magnitudes(w + i * k, k, quantized)));
  });
}

Cost cost(const Attrs&, Specs in, const TensorSpec& out, const Extents& extents) {
  return moves(in, out, extents, elems_at(out, extents) * in[1].shape.last());
}

Cuts cut_heads(const Attrs&, Specs, const TensorSpec&, const Cut& cut) {
  return cut.axis == 1 ? Cuts({cut, cut.moved(0)}) : std::nullopt;
}

constexpr OpInput kInputs[] = {{"x", Reach::row},
                               {.name = "w", .reach = Reach::all, .use = InputUse::matrix}};

}  // namespace

const OpDef kHeadLinear{.name = "head_linear",
                        .inputs = kInputs,
                        .named_after = 1,
                        .infer = infer,
                        .reference = reference,
                        .bound = bound,
                        .cost = cost,
                        .col_granule = last_dimension,
                        .cuts = {.inputs = cut_heads}};

Tensor head_linear(Tensor x, Tensor w, SourceLine where) {
  return add_node(kHeadLinear, {x, w}, {}, where);
}

}  // namespace weft
