#include "weft/ops/add.h"

#include "op_test.h"

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

TEST_CASE("add: a vector is broadcast along the last dimension of rows and heads") {
  Graph g;
  const Tensor rows = g.input("rows", {f32, {2, 3}}), heads = g.input("heads", {f32, {1, 2, 3}});
  const Tensor v = g.weight("v", {f32, {3}});
  g.output("y", add(rows, v));
  g.output("z", add(heads, v));
  g.output("flat", add(v, v));
  Evaluator eval(g, kPadded);
  eval.floats("rows", {1, 2, 3, 4, 5, 6}).floats("heads", {1, 2, 3, 4, 5, 6});
  eval.floats("v", {2, 3, 4}).run();
  CHECK(eval.floats("y") == Floats{3, 5, 7, 6, 8, 10});
  CHECK(eval.floats("z") == eval.floats("y"));
  CHECK(eval.floats("flat") == Floats{4, 6, 8});
}

TEST_CASE("add: invalid arguments") {
  const TensorSpec a{f32, {2, 3}};
  CHECK(refusal(kAdd, {}, {{i32, {2, 3}}, a}) == "DTypeError: a must be F32, got I32");
  CHECK(refusal(kAdd, {}, {a, {f16, {2, 3}}}) == "DTypeError: b must be F32, got F16");
  CHECK(refusal(kAdd, {}, {a, {f32, {2}}}) == "ShapeError: b must be [2, 3] or [3], got [2]");
  CHECK(refusal(kAdd, {}, {a, {f32, {1, 3}}}) == "ShapeError: b must be [2, 3] or [3], got [1, 3]");
}

}  // namespace
}  // namespace weft
