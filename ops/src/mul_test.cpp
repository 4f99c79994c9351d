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

TEST_CASE("mul: heads of every row share an element or a row of b, all share one") {
  // T = H: what fits as rows is taken by head.
  Graph g;
  const Tensor a = g.input("a", {f32, {2, 2, 3}}), rows = g.input("rows", {f32, {4, 3}});
  const Tensor one = g.weight("one", {f32, {1}});
  g.output("by_element", mul(a, g.weight("elements", {f32, {2, 3}})));
  g.output("by_head", mul(a, g.weight("heads", {f32, {2, 1}})));
  g.output("by_one", mul(a, one));
  g.output("rows_by_one", mul(rows, one));
  Floats x(12);
  for (std::size_t i = 0; i < 12; ++i) x[i] = static_cast<float>(i + 1);
  Evaluator eval(g, kPadded);
  eval.floats("a", x).floats("rows", x).floats("elements", {10, 20, 30, 40, 50, 60});
  eval.floats("heads", {10, 20}).floats("one", {2}).run();
  CHECK(eval.floats("by_element") ==
        Floats{10, 40, 90, 160, 250, 360, 70, 160, 270, 400, 550, 720});
  CHECK(eval.floats("by_head") == Floats{10, 20, 30, 80, 100, 120, 70, 80, 90, 200, 220, 240});
  CHECK(eval.floats("by_one") == Floats{2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24});
  CHECK(eval.floats("rows_by_one") == eval.floats("by_one"));
}

TEST_CASE("mul: invalid arguments") {
  const TensorSpec a{f32, {2, 3}};
  CHECK(refusal(kMul, {}, {{i32, {2, 3}}, a}) == "DTypeError: a must be F32, got I32");
  CHECK(refusal(kMul, {}, {a, {f16, {2, 3}}}) == "DTypeError: b must be F32, got F16");
  CHECK(refusal(kMul, {}, {a, {f32, {2}}}) == "ShapeError: b must be [2, 3], [3] or [1], got [2]");
  CHECK(refusal(kMul, {}, {a, {f32, {1, 3}}}) ==
        "ShapeError: b must be [2, 3], [3] or [1], got [1, 3]");
  const TensorSpec heads{f32, {5, 2, 3}};
  const auto refused = [&](const Shape& b) { return refusal(kMul, {}, {heads, {f32, b}}); };
  const std::string forms = "ShapeError: b must be [5, 2, 3], [2, 3], [2, 1], [3] or [1], got ";
  CHECK(refused({5, 3}) == forms + "[5, 3]");
  CHECK(refused({2, 2}) == forms + "[2, 2]");
  CHECK(refused({5, 2, 1}) == forms + "[5, 2, 1]");
  CHECK(refused({1, 2, 3}) == forms + "[1, 2, 3]");
}

}  // namespace
}  // namespace weft
