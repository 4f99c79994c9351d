#include "weft/ops/rows/concat_heads.h"

#include "weft/ops/rows/slice_heads.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("concat_heads: every head with its own part, or with one that all share") {
  Graph g;
  const Dim t = g.variable("T", 4);
  const Tensor a = g.input("a", {f32, {t, 2, 2}});
  const Tensor own = concat_heads(a, g.input("own", {f32, {t, 2, 1}}));
  g.output("y", own);
  g.output("z", concat_heads(a, g.input("shared", {f32, {t, 1, 1}})));
  CHECK(to_string(g[own.id()].spec) == "F32 [?<=4, 2, 3]");
  Evaluator eval(g, kPadded);
  eval.extent("T", 2).floats("a", {1, 2, 3, 4, 5, 6, 7, 8});
  eval.floats("own", {10, 20, 30, 40}).floats("shared", {50, 60}).run();
  CHECK(eval.floats("y") == Floats{1, 2, 10, 3, 4, 20, 5, 6, 30, 7, 8, 40});
  CHECK(eval.floats("z") == Floats{1, 2, 50, 3, 4, 50, 5, 6, 60, 7, 8, 60});
  for (const float b : eval.bounds("y")) CHECK(b == 0);
}

TEST_CASE("concat_heads: both parts of heads, put together again, are the heads") {
  Graph g;
  const Tensor x = g.input("x", {f32, {3, 4, 10}});
  g.output("y", concat_heads(slice_heads(x, 0, 3), slice_heads(x, 3, 10)));
  const Floats values = noise(120, 1);
  Evaluator eval(g, kPadded);
  CHECK(eval.floats("x", values).run().floats("y") == values);
}

TEST_CASE("concat_heads: a head stays in one lane") {
  const std::vector<TensorSpec> in{{f32, {2, 3, 8}}, {f32, {2, 1, 4}}};
  CHECK(kConcatHeads.col_granule({}, in, kConcatHeads.infer({}, in)) == 12);
}

TEST_CASE("concat_heads: invalid arguments") {
  const TensorSpec a{f32, {2, 3, 8}};
  CHECK(refusal(kConcatHeads, {}, {{f16, {2, 3, 8}}, a}) == "DTypeError: a must be F32, got F16");
  CHECK(refusal(kConcatHeads, {}, {{f32, {2, 24}}, a}) ==
        "ShapeError: a must be [T, H, A], got [2, 24]");
  CHECK(refusal(kConcatHeads, {}, {a, {f16, {2, 3, 8}}}) == "DTypeError: b must be F32, got F16");
  CHECK(refusal(kConcatHeads, {}, {a, {f32, {2, 2, 8}}}) ==
        "ShapeError: b must be [2, 3, B] or [2, 1, B], got [2, 2, 8]");
  CHECK(refusal(kConcatHeads, {}, {a, {f32, {1, 3, 8}}}) ==
        "ShapeError: b must be [2, 3, B] or [2, 1, B], got [1, 3, 8]");
}

}  // namespace
}  // namespace weft
