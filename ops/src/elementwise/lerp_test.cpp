#include "weft/ops/elementwise/lerp.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("lerp: from a to b and beyond, w of every element and of every column") {
  Graph g;
  const Dim t = g.variable("T", 4);
  const Tensor a = g.input("a", {f32, {t, 3}}), b = g.input("b", {f32, {t, 3}});
  g.output("each", lerp(a, b, g.input("w", {f32, {t, 3}})));
  g.output("shared", lerp(a, b, g.weight("v", {f32, {3}})));
  Evaluator eval(g, kPadded);
  eval.extent("T", 2).floats("a", {1, 2, 3, 4, 5, 6}).floats("b", {2, 4, 3, 0, 5, 8});
  eval.floats("w", {0, 1, 9, 0.5f, 7, -1}).floats("v", {0, 0.5f, 2}).run();
  CHECK(eval.floats("each") == Floats{1, 4, 3, 2, 5, 4});
  CHECK(eval.floats("shared") == Floats{1, 3, 3, 4, 5, 10});
}

TEST_CASE("lerp: every row in several ways, with shared weights and with its own") {
  Graph g;
  const Dim t = g.variable("T", 4);
  const Tensor a = g.input("a", {f32, {t, 1, 2}}), b = g.input("b", {f32, {t, 1, 2}});
  g.output("shared", lerp(a, b, g.weight("v", {f32, {3, 2}})));
  g.output("own", lerp(a, b, g.input("w", {f32, {t, 3, 2}})));
  Evaluator eval(g, kPadded);
  eval.extent("T", 2).floats("a", {0, 10, 1, 1}).floats("b", {1, 20, 1, 3});
  eval.floats("v", {0, 0.5f, 2, 1, -1, -1});
  eval.floats("w", {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}).run();
  CHECK(eval.floats("shared") == Floats{0, 15, 2, 20, -1, 0, 1, 2, 1, 3, 1, -1});
  CHECK(eval.floats("own") == Floats{0, 10, 1, 20, 2, 30, 1, 7, 1, 9, 1, 11});
}

TEST_CASE("lerp: plain f32 keeps within the bound, a and b swapped do not") {
  Graph g;
  const Tensor a = g.input("a", {f32, {8, 2, 16}}), b = g.input("b", {f32, {8, 2, 16}});
  g.output("y", lerp(a, b, g.input("w", {f32, {2, 16}})));
  const Floats as = noise(256, 1), bs = noise(256, 2), ws = noise(32, 3);
  Floats plain, swapped;
  for (std::size_t i = 0; i < 256; ++i) {
    const float w = ws[i % 32], back = as[i] - bs[i];
    plain.push_back(as[i] + (bs[i] - as[i]) * w);
    swapped.push_back(bs[i] + back * w);
  }
  Evaluator eval(g, kPadded);
  eval.floats("a", as).floats("b", bs).floats("w", ws).run();
  check_close(plain, eval.floats("y"), eval.bounds("y"));
  CHECK(worst_of(swapped, eval.floats("y"), eval.bounds("y")).excess > 1000);
  for (const float bound : eval.bounds("y")) CHECK(bound < 1e-5f);
}

TEST_CASE("lerp: what lanes may divide") {
  const std::vector<TensorSpec> alike{{f32, {4, 2, 8}}, {f32, {4, 2, 8}}, {f32, {2, 8}}};
  CHECK(kLerp.col_granule({}, alike, alike[0]) == 1);
  CHECK(kLerp.map_cols({}, alike, 0, {3, 5}) == ColRange{3, 5});
  const std::vector<TensorSpec> several{{f32, {4, 1, 8}}, {f32, {4, 1, 8}}, {f32, {4, 3, 8}}};
  CHECK(kLerp.infer({}, several).shape == Shape{4, 3, 8});
  CHECK(kLerp.col_granule({}, several, several[2]) == 8);
  CHECK(kLerp.map_cols({}, several, 1, {8, 24}) == ColRange{0, 8});
  CHECK(kLerp.map_cols({}, several, 2, {8, 24}) == ColRange{8, 24});
}

TEST_CASE("lerp: invalid arguments") {
  const TensorSpec a{f32, {3, 8}}, heads{f32, {3, 2, 8}}, one{f32, {3, 1, 8}};
  CHECK(refusal(kLerp, {}, {{f16, {3, 8}}, a, a}) == "DTypeError: a must be F32, got F16");
  CHECK(refusal(kLerp, {}, {{f32, {8}}, a, a}) ==
        "ShapeError: a must be [T, D] or [T, H, D], got [8]");
  CHECK(refusal(kLerp, {}, {a, {f32, {3, 4}}, a}) == "ShapeError: b must be [3, 8], got [3, 4]");
  CHECK(refusal(kLerp, {}, {a, a, {f16, {8}}}) == "DTypeError: w must be F32, got F16");
  CHECK(refusal(kLerp, {}, {a, a, {f32, {2, 8}}}) ==
        "ShapeError: w must be [3, 8] or [8], got [2, 8]");
  CHECK(refusal(kLerp, {}, {heads, heads, {f32, {3, 8}}}) ==
        "ShapeError: w must be [3, 2, 8], [2, 8] or [8], got [3, 8]");
  CHECK(refusal(kLerp, {}, {one, one, {f32, {4, 5, 8}}}) ==
        "ShapeError: w must be [3, M, 8], [M, 8] or [8], got [4, 5, 8]");
  CHECK(refusal(kLerp, {}, {one, one, {f32, {4}}}) ==
        "ShapeError: w must be [3, M, 8], [M, 8] or [8], got [4]");
}

}  // namespace
}  // namespace weft
