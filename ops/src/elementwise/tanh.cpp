#include "weft/ops/elementwise/tanh.h"

#include "elementwise/unary.h"

namespace weft {
namespace {

using namespace ops;

double tanh_of(double x) {
  return std::tanh(x);
}

// A tanh good to 4 ulp.
double error(double, double y) {
  return rounding(8) * std::fabs(y) + kFlushed;
}

}  // namespace

const OpDef kTanh = unary<tanh_of, error>("tanh");

Tensor tanh(Tensor x, SourceLine where) {
  return add_node(kTanh, {x}, {}, where);
}

}  // namespace weft
