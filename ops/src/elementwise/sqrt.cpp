#include "weft/ops/elementwise/sqrt.h"

#include "elementwise/unary.h"

namespace weft {
namespace {

using namespace ops;

double sqrt_of(double x) {
  return std::sqrt(x);
}

// One rounding; a subnormal x may be flushed to zero.
double error(double x, double y) {
  return rounding(2) * y + (x < FLT_MIN ? y : 0);
}

}  // namespace

const OpDef kSqrt = unary<sqrt_of, error>("sqrt");

Tensor sqrt(Tensor x, SourceLine where) {
  return add_node(kSqrt, {x}, {}, where);
}

}  // namespace weft
