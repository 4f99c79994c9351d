#include "weft/ops/elementwise/add.h"

#include "elementwise/broadcast_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("add: elementwise, at the step's extent") {
  Graph g;
  const Dim t = g.variable("T", 4);
  const Tensor a = g.input("a", {f32, {t, 2}}), b = g.input("b", {f32, {t, 2}});
  g.output("y", a + b);
  Evaluator eval(g, kPadded);
  eval.extent("T", 2).floats("a", {1, 2, 3, 4}).floats("b", {10, 20, 30, -40}).run();
  CHECK(eval.floats("y") == Floats{11, 22, 33, -36});
}

TEST_CASE("add: vectors, elements and heads are broadcast") {
  check_broadcast([](Tensor a, Tensor b) { return add(a, b); },
                  {.by_vector = {3, 5, 7, 6, 8, 10},
                   .of_vectors = {4, 6, 8},
                   .by_element = {11, 22, 33, 44, 55, 66, 17, 28, 39, 50, 61, 72},
                   .by_head = {11, 12, 13, 24, 25, 26, 17, 18, 19, 30, 31, 32},
                   .by_one = {3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}});
}

TEST_CASE("add: invalid arguments") {
  check_broadcast_refusals(kAdd);
}

}  // namespace
}  // namespace weft
