#include "weft/ops/elementwise/mul.h"

#include "elementwise/broadcast.h"

namespace weft {
namespace {

using namespace ops;

void reference(const Attrs&, Views in, View out) {
  broadcast(in, out, [](double a, double b) { return a * b; });
}

constexpr OpInput kInputs[] = {{"a"}, {"b"}};

}  // namespace

const OpDef kMul{.name = "mul",
                 .inputs = kInputs,
                 .infer = infer_broadcast,
                 .reference = reference,
                 .in_place_over = 0,
                 .cuts = {.linear = LinearIn::first}};

Tensor mul(Tensor a, Tensor b, SourceLine where) {
  return add_node(kMul, {a, b}, {}, where);
}

}  // namespace weft
