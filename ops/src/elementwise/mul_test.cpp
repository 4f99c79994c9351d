#include "weft/ops/elementwise/mul.h"

#include "elementwise/broadcast_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("mul: elementwise, at the step's extent") {
  Graph g;
  const Dim t = g.variable("T", 4);
  const Tensor a = g.input("a", {f32, {t, 2}}), b = g.input("b", {f32, {t, 2}});
  g.output("y", a * b);
  Evaluator eval(g, kPadded);
  eval.extent("T", 2).floats("a", {1, 2, 3, 4}).floats("b", {10, 20, 30, -40}).run();
  CHECK(eval.floats("y") == Floats{10, 40, 90, -160});
}

TEST_CASE("mul: vectors, elements and heads are broadcast") {
  check_broadcast([](Tensor a, Tensor b) { return mul(a, b); },
                  {.by_vector = {2, 6, 12, 8, 15, 24},
                   .of_vectors = {4, 9, 16},
                   .by_element = {10, 40, 90, 160, 250, 360, 70, 160, 270, 400, 550, 720},
                   .by_head = {10, 20, 30, 80, 100, 120, 70, 80, 90, 200, 220, 240},
                   .by_one = {2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24}});
}

TEST_CASE("mul: invalid arguments") {
  check_broadcast_refusals(kMul);
}

}  // namespace
}  // namespace weft
