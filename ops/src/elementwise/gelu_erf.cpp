#include "weft/ops/elementwise/gelu_erf.h"

#include <numbers>

#include "elementwise/unary.h"

namespace weft {

double gelu_erf_of(double x) {
  return x / 2 * (1 + std::erf(x / std::numbers::sqrt2));
}

namespace {

using namespace ops;

// erf may be good to 2^-22 absolutely, as polynomials times an exponential are, which is 4
// roundings of 1; the argument, the sum and the products take 4 more. Where x < 0 the sum cancels,
// so all of it is a share of |x|, not of y.
double error(double x, double) {
  return rounding(8) * std::fabs(x) + kFlushed;
}

}  // namespace

const OpDef kGeluErf = unary<gelu_erf_of, error>("gelu_erf");

Tensor gelu_erf(Tensor x, SourceLine where) {
  return add_node(kGeluErf, {x}, {}, where);
}

}  // namespace weft
