#include "weft/ops/elementwise/relu.h"

#include "elementwise/unary.h"

namespace weft {
namespace {

using namespace ops;

double relu_of(double x) {
  return x < 0 ? 0 : x;  // keeps NaN
}
double error(double, double) {
  return 0;
}

}  // namespace

const OpDef kRelu = unary<relu_of, error>("relu");

Tensor relu(Tensor x, SourceLine where) {
  return add_node(kRelu, {x}, {}, where);
}

}  // namespace weft
