#include "weft/ops/norms/softmax.h"

#include <algorithm>

#include "rows/row_groups.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  expect_dtype("x", in[0], f32);
  expect_form(in[0].shape.n_dims() >= 1, "x", in[0], "[.., D]");
  return in[0];
}

void reference(const Attrs&, Views in, View out) {
  const std::int64_t d = out.dim(-1);
  for_each_group(in[0], out, [&](const float* x, float* y) {
    const ExpSum sum = exp_sum_of({x, static_cast<std::size_t>(d)});
    for (std::int64_t i = 0; i < d; ++i) y[i] = static_cast<float>(sum.share_of(x[i]));
  });
}

// An argument that is rounded once moves its exp by |x - max| roundings, and the sum by those of
// its terms, weighted by y; then exps good to 2 ulp, d additions and a division.
void bound(const Attrs&, Views in, View bounds) {
  const std::int64_t d = bounds.dim(-1);
  for_each_group(in[0], bounds, [&](const float* x, float* b) {
    const auto [max, sum] = exp_sum_of({x, static_cast<std::size_t>(d)});
    double moved = 0;
    for (std::int64_t i = 0; i < d; ++i) moved += std::exp(x[i] - max) / sum * (max - x[i]);
    for (std::int64_t i = 0; i < d; ++i) {
      const double y = std::exp(x[i] - max) / sum;
      const double share =
          rounding(2) * (max - x[i] + moved) + rounding(static_cast<double>(d + 8));
      b[i] = bound_up(y * share + 4 * kFlushed);
    }
  });
}

constexpr OpInput kInputs[] = {{"x"}};

}  // namespace

ExpSum exp_sum_of(std::span<const float> x) {
  ExpSum result{.max = *std::ranges::max_element(x)};
  for (const float v : x) result.sum += std::exp(v - result.max);
  return result;
}

const OpDef kSoftmax{.name = "softmax",
                     .inputs = kInputs,
                     .infer = infer,
                     .reference = reference,
                     .bound = bound,
                     .col_granule = last_dimension,
                     .in_place_over = 0,
                     .cuts = {.whole = true}};

Tensor softmax(Tensor x, SourceLine where) {
  return add_node(kSoftmax, {x}, {}, where);
}

}  // namespace weft
