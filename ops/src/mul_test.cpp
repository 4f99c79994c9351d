#include "weft/ops/mul.h"

#include "op_test.h"

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

TEST_CASE("mul: a vector is broadcast along the last dimension of rows and heads") {
  Graph g;
  const Tensor rows = g.input("rows", {f32, {2, 3}}), heads = g.input("heads", {f32, {1, 2, 3}});
  const Tensor v = g.weight("v", {f32, {3}});
  g.output("y", mul(rows, v));
  g.output("z", mul(heads, v));
  g.output("flat", mul(v, v));
  Evaluator eval(g, kPadded);
  eval.floats("rows", {1, 2, 3, 4, 5, 6}).floats("heads", {1, 2, 3, 4, 5, 6});
  eval.floats("v", {2, 3, 4}).run();
  CHECK(eval.floats("y") == Floats{2, 6, 12, 8, 15, 24});
  CHECK(eval.floats("z") == eval.floats("y"));
  CHECK(eval.floats("flat") == Floats{4, 9, 16});
}

TEST_CASE("mul: invalid arguments") {
  const TensorSpec a{f32, {2, 3}};
  CHECK(refusal(kMul, {}, {{i32, {2, 3}}, a}) == "DTypeError: a must be F32, got I32");
  CHECK(refusal(kMul, {}, {a, {f16, {2, 3}}}) == "DTypeError: b must be F32, got F16");
  CHECK(refusal(kMul, {}, {a, {f32, {2}}}) == "ShapeError: b must be [2, 3] or [3], got [2]");
  CHECK(refusal(kMul, {}, {a, {f32, {1, 3}}}) == "ShapeError: b must be [2, 3] or [3], got [1, 3]");
}

}  // namespace
}  // namespace weft
