#include "weft/ops/attention/dot_heads.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("dot_heads: by hand") {
  Graph g;
  const Dim t = g.variable("T", 4);
  g.output("y", dot_heads(g.input("a", {f32, {t, 2, 3}}), g.input("b", {f32, {t, 2, 3}})));
  Evaluator eval(g, kPadded);
  eval.extent("T", 2).floats("a", {1, 2, 3, 4, 5, 6, 1, 0, 0, 0, 1, 0});
  eval.floats("b", {1, 1, 1, 2, 0, -1, 7, 8, 9, 7, 8, 9}).run();
  CHECK(eval.floats("y") == Floats{6, 2, 7, 8});
}

TEST_CASE("dot_heads: sums in f32 keep within the bound, without one product they do not") {
  Graph g;
  g.output("y", dot_heads(g.input("a", {f32, {3, 4, 64}}), g.input("b", {f32, {3, 4, 64}})));
  const Floats a = noise(768, 1), b = noise(768, 2);
  Floats plain(12), wrong(12);
  for (std::size_t i = 0; i < 768; ++i) {
    plain[i / 64] += a[i] * b[i];
    if (i % 64 != 9) wrong[i / 64] += a[i] * b[i];
  }
  Evaluator eval(g, kPadded);
  eval.floats("a", a).floats("b", b).run();
  check_close(plain, eval.floats("y"), eval.bounds("y"));
  CHECK(worst_of(wrong, eval.floats("y"), eval.bounds("y")).excess > 1000);
}

TEST_CASE("dot_heads: lanes need whole heads of what they multiply, and its cost") {
  const std::vector<TensorSpec> in{{f32, {3, 4, 64}}, {f32, {3, 4, 64}}};
  CHECK(kDotHeads.map_cols({}, in, 1, {1, 3}) == ColRange{64, 192});
  CHECK(kDotHeads.cost({}, in, kDotHeads.infer({}, in), {}).multiply_adds == 3 * 4 * 64);
}

TEST_CASE("dot_heads: invalid arguments") {
  const TensorSpec a{f32, {3, 2, 8}};
  CHECK(refusal(kDotHeads, {}, {{f16, {3, 2, 8}}, a}) == "DTypeError: a must be F32, got F16");
  CHECK(refusal(kDotHeads, {}, {{f32, {3, 8}}, a}) ==
        "ShapeError: a must be [T, H, E], got [3, 8]");
  CHECK(refusal(kDotHeads, {}, {a, {i32, {3, 2, 8}}}) == "DTypeError: b must be F32, got I32");
  CHECK(refusal(kDotHeads, {}, {a, {f32, {3, 4, 8}}}) ==
        "ShapeError: b must be [3, 2, 8], got [3, 4, 8]");
}

}  // namespace
}  // namespace weft
