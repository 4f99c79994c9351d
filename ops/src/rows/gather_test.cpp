#include "weft/ops/rows/gather.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("gather: columns of the token's row") {
  Graph g;
  const Dim t = g.variable("T", 4);
  const Tensor x = g.input("x", {f32, {t, 3}}), ids = g.input("ids", {i32, {t, 2}});
  g.output("y", gather(x, ids));
  CHECK(to_string(g[2].spec) == "F32 [?<=4, 2]");
  Evaluator eval(g, kPadded);
  eval.extent("T", 2).floats("x", {1, 2, 3, 4, 5, 6}).ints("ids", {2, 0, 1, 1}).run();
  CHECK(eval.floats("y") == Floats{3, 1, 5, 5});
  for (const float b : eval.bounds("y")) CHECK(b == 0);
}

TEST_CASE("gather: every row takes from the same vector") {
  Graph g;
  g.output("y", gather(g.weight("v", {f32, {3}}), g.input("ids", {i32, {2, 2}})));
  Evaluator eval(g, kPadded);
  eval.floats("v", {10, 20, 30}).ints("ids", {2, 0, 1, 2}).run();
  CHECK(eval.floats("y") == Floats{30, 10, 20, 30});
}

TEST_CASE("gather: ids outside give NaN") {
  Graph g;
  g.output("y", gather(g.input("x", {f32, {2, 2}}), g.input("ids", {i32, {2, 3}})));
  Evaluator eval(g, kPadded);
  eval.floats("x", {1, 2, 3, 4}).ints("ids", {-1, 1, 2, INT32_MIN, INT32_MAX, 0}).run();
  const Floats y = eval.floats("y");
  for (const std::size_t i : {0, 2, 3, 4}) CHECK(std::isnan(y[i]));
  CHECK(y[1] == 2);
  CHECK(y[5] == 3);
}

TEST_CASE("gather: all columns in order give x, in reverse order its mirror image") {
  Graph g;
  g.output("y", gather(g.input("x", {f32, {3, 50}}), g.input("ids", {i32, {3, 50}})));
  const Floats x = noise(150, 1);
  std::vector<std::int32_t> forward, backward;
  for (std::int32_t i = 0; i < 150; ++i) forward.push_back(i % 50);
  for (std::int32_t i = 0; i < 150; ++i) backward.push_back(49 - i % 50);
  Evaluator eval(g, kPadded);
  CHECK(eval.floats("x", x).ints("ids", forward).run().floats("y") == x);
  const Floats y = eval.ints("ids", backward).run().floats("y");
  for (std::size_t i = 0; i < 150; ++i) CHECK(y[i] == x[i / 50 * 50 + 49 - i % 50]);
}

TEST_CASE("gather: invalid arguments") {
  const TensorSpec x{f32, {2, 4}}, ids{i32, {2, 3}};
  CHECK(refusal(kGather, {}, {{f16, {2, 4}}, ids}) == "DTypeError: x must be F32, got F16");
  CHECK(refusal(kGather, {}, {x, {f32, {2, 3}}}) == "DTypeError: ids must be I32, got F32");
  CHECK(refusal(kGather, {}, {x, {i32, {2}}}) == "ShapeError: ids must be [T, K], got [2]");
  CHECK(refusal(kGather, {}, {{f32, {3, 4}}, ids}) ==
        "ShapeError: x must be [X] or [2, X], got [3, 4]");
  CHECK(refusal(kGather, {}, {{f32, {2, 2, 4}}, ids}) ==
        "ShapeError: x must be [X] or [2, X], got [2, 2, 4]");
  CHECK(refusal(kGather, {}, {{f32, {3}}, ids}) == "accepted");
}

}  // namespace
}  // namespace weft
