#include "weft/ops/elementwise/silu_mul.h"

#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/silu.h"

#include "op_support.h"

namespace weft {
namespace {

using namespace ops;

TensorSpec infer(const Attrs&, Specs in) {
  expect_dtype("a", in[0], f32);
  expect_dtype("b", in[1], f32);
  expect_shape("b", in[1], in[0].shape);
  return in[1];
}

// Calls f(a, b, y) with every pair of elements and the result.
template <class F>
void each(Views in, View out, F f) {
  for (std::int64_t r = 0; r < out.rows(); ++r) {
    const float *a = in[0].row<const float>(r), *b = in[1].row<const float>(r);
    for (std::int64_t c = 0; c < out.cols(); ++c) f(a[c], b[c], out.row<float>(r)[c]);
  }
}

void reference(const Attrs&, Views in, View out) {
  each(in, out, [](double a, double b, float& y) { y = static_cast<float>(silu_of(a) * b); });
}

// The error of silu times b, and the rounding of the product.
void bound(const Attrs&, Views in, View bounds) {
  each(in, bounds, [](double a, double b, float& y) {
    const double s = silu_of(a), error = silu_error(s), factor = std::fabs(b);
    y = bound_up((error + rounding(2) * (std::fabs(s) + error)) * factor + kFlushed);
  });
}

Tensor definition(const Attrs&, std::span<const Tensor> in) {
  return mul(silu(in[0]), in[1]);
}

constexpr OpInput kInputs[] = {{"a"}, {"b"}};

}  // namespace

const OpDef kSiluMul{.name = "silu_mul",
                     .inputs = kInputs,
                     .infer = infer,
                     .reference = reference,
                     .bound = bound,
                     .in_place_over = 1,
                     .definition = definition};

}  // namespace weft
