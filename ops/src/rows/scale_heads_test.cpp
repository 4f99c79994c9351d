#include "weft/ops/rows/scale_heads.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("scale_heads: each head of each token by its factor") {
  Graph g;
  const Dim t = g.variable("T", 4);
  g.output("y", scale_heads(g.input("x", {f32, {t, 2, 2}}), g.input("factors", {f32, {t, 2}})));
  Evaluator eval(g, kPadded);
  eval.extent("T", 2).floats("x", {1, 2, 3, 4, 5, 6, 7, INFINITY});
  eval.floats("factors", {1, 10, 0, -2}).run();
  CHECK(eval.floats("y") == Floats{1, 2, 30, 40, 0, 0, -14, -INFINITY});
}

TEST_CASE("scale_heads: a product in f32 is the definition, the neighbour's factor is not") {
  Graph g;
  const Tensor x = g.input("x", {f32, {3, 4, 8}}), factors = g.input("factors", {f32, {3, 4}});
  g.output("y", scale_heads(x, factors));
  const Floats xs = noise(96, 1), f = noise(12, 2);
  Floats plain, wrong;
  for (std::size_t i = 0; i < 96; ++i) plain.push_back(xs[i] * f[i / 8]);
  for (std::size_t i = 0; i < 96; ++i) wrong.push_back(xs[i] * f[(i / 8 + 1) % 12]);
  Evaluator eval(g, kPadded);
  eval.floats("x", xs).floats("factors", f).run();
  CHECK(eval.floats("y") == plain);
  CHECK(worst_of(wrong, eval.floats("y"), eval.bounds("y")).excess > 1000);
}

TEST_CASE("scale_heads: a head stays in one lane") {
  const std::vector<TensorSpec> in{{f32, {2, 3, 8}}, {f32, {2, 3}}};
  CHECK(kScaleHeads.col_granule({}, in, in[0]) == 8);
}

TEST_CASE("scale_heads: invalid arguments") {
  const TensorSpec x{f32, {2, 3, 8}}, factors{f32, {2, 3}};
  CHECK(refusal(kScaleHeads, {}, {{f16, {2, 3, 8}}, factors}) ==
        "DTypeError: x must be F32, got F16");
  CHECK(refusal(kScaleHeads, {}, {{f32, {2, 24}}, factors}) ==
        "ShapeError: x must be [T, H, E], got [2, 24]");
  CHECK(refusal(kScaleHeads, {}, {x, {f16, {2, 3}}}) == "DTypeError: factors must be F32, got F16");
  CHECK(refusal(kScaleHeads, {}, {x, {f32, {2, 8}}}) ==
        "ShapeError: factors must be [2, 3], got [2, 8]");
}

}  // namespace
}  // namespace weft
