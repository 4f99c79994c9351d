#include "weft/ops/elementwise/exp.h"

#include "elementwise/unary.h"

namespace weft {
namespace {

using namespace ops;

double exp_of(double x) {
  return std::exp(x);
}

// An exp good to 2 ulp. A flushed subnormal argument changes less than its rounding.
double error(double, double y) {
  return rounding(6) * y + kFlushed;
}

}  // namespace

const OpDef kExp = unary<exp_of, error>("exp");

Tensor exp(Tensor x, SourceLine where) {
  return add_node(kExp, {x}, {}, where);
}

}  // namespace weft
