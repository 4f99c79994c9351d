#include "weft/ops/elementwise/gelu.h"

#include <numbers>

#include "elementwise/unary.h"

namespace weft {

double gelu_of(double x) {
  const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return x / 2 * (1 + std::tanh(u));
}

namespace {

using namespace ops;

// The argument u takes 6 roundings, each of which moves tanh by at most u (1 - tanh(u)^2) <= 0.45
// times itself; tanh, the sum and the products take 8 more. Where x < 0 the sum cancels, so all of
// it is a share of |x|, not of y.
double error(double x, double) {
  return rounding(12) * std::fabs(x) + kFlushed;
}

}  // namespace

const OpDef kGelu = unary<gelu_of, error>("gelu");

Tensor gelu(Tensor x, SourceLine where) {
  return add_node(kGelu, {x}, {}, where);
}

}  // namespace weft
