#include "weft/ops/rows/weighted_sum.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("weighted_sum: by hand, at the step's extent") {
  Graph g;
  const Dim t = g.variable("T", 4);
  g.output("y", weighted_sum(g.input("x", {f32, {t, 2, 3}}), g.input("w", {f32, {t, 2}})));
  CHECK(to_string(g[2].spec) == "F32 [?<=4, 3]");
  Evaluator eval(g, kPadded);
  eval.extent("T", 2).floats("x", {1, 2, 3, 10, 20, 30, 1, 1, 1, 5, 6, 7});
  eval.floats("w", {1, 0.5f, -1, 2}).run();
  CHECK(eval.floats("y") == Floats{6, 12, 18, 9, 11, 13});
}

TEST_CASE("weighted_sum: a weight of 1 among zeros picks its row") {
  Graph g;
  g.output("y", weighted_sum(g.input("x", {f32, {1, 4, 50}}), g.input("w", {f32, {1, 4}})));
  const Floats x = noise(200, 1);
  Evaluator eval(g, kPadded);
  eval.floats("x", x).floats("w", {0, 0, 1, 0}).run();
  CHECK(eval.floats("y") == Floats(x.begin() + 100, x.begin() + 150));
}

TEST_CASE("weighted_sum: plain f32 keeps within the bound, a forgotten term does not") {
  for (std::uint32_t seed = 1; seed < 30; ++seed) {
    const std::size_t n = seed, d = 20;
    Graph g;
    g.output("y", weighted_sum(g.input("x", {f32, {1, seed, 20}}), g.input("w", {f32, {1, seed}})));
    const Floats x = noise(n * d, seed), w = noise(n, seed + 100);
    Floats plain(d), wrong(d);
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t i = 0; i < d; ++i) plain[i] += w[k] * x[k * d + i];
      if (k == n / 2) continue;
      for (std::size_t i = 0; i < d; ++i) wrong[i] += w[k] * x[k * d + i];
    }
    Evaluator eval(g, kPadded);
    eval.floats("x", x).floats("w", w).run();
    check_close(plain, eval.floats("y"), eval.bounds("y"));
    CHECK(worst_of(wrong, eval.floats("y"), eval.bounds("y")).excess > 1000);
  }
}

TEST_CASE("weighted_sum: costs a multiply-add for each value of x") {
  const std::vector<TensorSpec> in{{f32, {2, 3, 8}}, {f32, {2, 3}}};
  const Cost cost = kWeightedSum.cost({}, in, kWeightedSum.infer({}, in), {});
  CHECK(cost.bytes_read == (48 + 6) * 4);
  CHECK(cost.bytes_written == 16 * 4);
  CHECK(cost.multiply_adds == 48);
}

TEST_CASE("weighted_sum: invalid arguments") {
  const TensorSpec x{f32, {2, 3, 8}}, w{f32, {2, 3}};
  CHECK(refusal(kWeightedSum, {}, {{f16, {2, 3, 8}}, w}) == "DTypeError: x must be F32, got F16");
  CHECK(refusal(kWeightedSum, {}, {{f32, {2, 24}}, w}) ==
        "ShapeError: x must be [T, K, D], got [2, 24]");
  CHECK(refusal(kWeightedSum, {}, {x, {f16, {2, 3}}}) ==
        "DTypeError: weights must be F32, got F16");
  CHECK(refusal(kWeightedSum, {}, {x, {f32, {2, 8}}}) ==
        "ShapeError: weights must be [2, 3], got [2, 8]");
}

}  // namespace
}  // namespace weft
