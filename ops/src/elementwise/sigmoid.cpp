#include "weft/ops/elementwise/sigmoid.h"

#include "elementwise/unary.h"

namespace weft {
namespace {

using namespace ops;

double sigmoid_of(double x) {
  return 1 / (1 + std::exp(-x));
}

// An exp good to 2 ulp, an addition and a division. exp(-x) leaves f32 at x = -88.7, where the true
// result is subnormal.
double error(double, double y) {
  return rounding(8) * y + kFlushed;
}

}  // namespace

const OpDef kSigmoid = unary<sigmoid_of, error>("sigmoid");

Tensor sigmoid(Tensor x, SourceLine where) {
  return add_node(kSigmoid, {x}, {}, where);
}

}  // namespace weft
