#include "weft/ops/elementwise/softplus.h"

#include <algorithm>

#include "elementwise/unary.h"

namespace weft {
namespace {

using namespace ops;

// As x + log(1 + exp(-x)) where exp(x) would overflow.
double softplus_of(double x) {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
}

// An exp and a logarithm good to 2 ulp each, and two additions; the logarithm of 1 + z may be taken
// of the rounded sum, which costs half an ulp of 1.
double error(double, double y) {
  return rounding(8) * y + rounding(2) + kFlushed;
}

}  // namespace

const OpDef kSoftplus = unary<softplus_of, error>("softplus");

Tensor softplus(Tensor x, SourceLine where) {
  return add_node(kSoftplus, {x}, {}, where);
}

}  // namespace weft
