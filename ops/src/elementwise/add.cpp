#include "weft/ops/elementwise/add.h"

#include "elementwise/broadcast.h"

namespace weft {
namespace {

using namespace ops;

void reference(const Attrs&, Views in, View out) {
  broadcast(in, out, [](double a, double b) { return a + b; });
}

constexpr OpInput kInputs[] = {{"a"}, {"b"}};

}  // namespace

const OpDef kAdd{.name = "add",
                 .inputs = kInputs,
                 .infer = infer_broadcast,
                 .reference = reference,
                 .in_place_over = 0,
                 .cuts = {.linear = LinearIn::all}};

Tensor add(Tensor a, Tensor b, SourceLine where) {
  return add_node(kAdd, {a, b}, {}, where);
}

}  // namespace weft
