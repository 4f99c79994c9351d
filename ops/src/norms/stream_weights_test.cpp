#include "weft/ops/norms/stream_weights.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

constexpr std::int64_t kN = 3, kAll = kN * (kN + 2);

Graph graph(std::int64_t n_tokens, const StreamWeightsAttrs& attrs, std::int64_t width = kAll) {
  Graph g;
  g.output("y", stream_weights(g.input("x", {f32, {n_tokens, width}}),
                               g.weight("scale", {f32, {width == kAll ? 3 : 1}}),
                               g.weight("base", {f32, {width}}), attrs));
  return g;
}

float sigmoid(double x) {
  return static_cast<float>(1 / (1 + std::exp(-x)));
}

TEST_CASE("stream_weights: reading alone, by hand") {
  const Graph g = graph(2, {.n = kN, .eps = 0.25f}, kN);
  Evaluator eval(g, kPadded);
  eval.floats("x", {0, 1, 2, 3, 4, 5}).floats("scale", {2}).floats("base", {0, -2, 1}).run();
  const Floats expected{0.75f,
                        0.75f,
                        sigmoid(5) + 0.25f,
                        sigmoid(6) + 0.25f,
                        sigmoid(6) + 0.25f,
                        sigmoid(11) + 0.25f};
  check_close(expected, eval.floats("y"), eval.bounds("y"));
}

TEST_CASE("stream_weights: equal projections mix equally, and each group has its scale") {
  const Graph g = graph(1, {.n = kN, .iterations = 4});
  Evaluator eval(g, kPadded);
  eval.floats("x", Floats(kAll, 1)).floats("scale", {1, 2, 3}).floats("base", Floats(kAll)).run();
  Floats expected(kN, sigmoid(1) + 1e-6f);
  for (std::int64_t j = 0; j < kN; ++j)
    expected.insert(expected.end(), {2 * sigmoid(2), 1 / 3.0f, 1 / 3.0f, 1 / 3.0f});
  const Floats y = eval.floats("y");
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::fabs(y[i] - expected[i]) < 1e-5f);
}

// The definition in the header, step by step in f32.
Floats plain(const Floats& x, const Floats& scale, const Floats& base, int iterations, float eps) {
  const auto at = [&](std::size_t c, std::size_t group) { return scale[group] * x[c] + base[c]; };
  Floats y;
  for (std::size_t i = 0; i < kN; ++i) y.push_back(1 / (1 + std::exp(-at(i, 0))) + eps);
  float m[kN][kN];
  for (std::size_t i = 0; i < kN; ++i) {
    float sum = 0, max = -INFINITY;
    for (std::size_t j = 0; j < kN; ++j) max = std::max(max, at(2 * kN + i * kN + j, 2));
    for (std::size_t j = 0; j < kN; ++j)
      sum += m[i][j] = std::exp(at(2 * kN + i * kN + j, 2) - max);
    for (std::size_t j = 0; j < kN; ++j) m[i][j] = m[i][j] / sum + eps;
  }
  for (int k = 0; k < 2 * iterations - 1; ++k) {
    for (std::size_t a = 0; a < kN; ++a) {
      float sum = eps;
      for (std::size_t b = 0; b < kN; ++b) sum += k % 2 == 0 ? m[b][a] : m[a][b];
      for (std::size_t b = 0; b < kN; ++b) (k % 2 == 0 ? m[b][a] : m[a][b]) /= sum;
    }
  }
  for (std::size_t j = 0; j < kN; ++j) {
    y.push_back(2 / (1 + std::exp(-at(kN + j, 1))));
    for (std::size_t i = 0; i < kN; ++i) y.push_back(m[i][j]);
  }
  return y;
}

TEST_CASE("stream_weights: plain f32 keeps within the bound, one division fewer does not") {
  const Floats scale{0.5f, 2, 3}, base = noise(kAll, 2);
  const Graph g = graph(1, {.n = kN, .iterations = 3, .eps = 1e-3f});
  for (std::uint32_t seed = 10; seed < 30; ++seed) {
    const Floats x = noise(kAll, seed);
    Evaluator eval(g, kPadded);
    eval.floats("x", x).floats("scale", scale).floats("base", base).run();
    check_close(plain(x, scale, base, 3, 1e-3f), eval.floats("y"), eval.bounds("y"));
    const Floats wrong = plain(x, scale, base, 2, 1e-3f);
    CHECK(worst_of(wrong, eval.floats("y"), eval.bounds("y")).excess > 10);
  }
}

TEST_CASE("stream_weights: after many iterations, rows and columns add up to 1") {
  const Graph g = graph(1, {.n = kN, .iterations = 50});
  Evaluator eval(g, kPadded);
  eval.floats("x", noise(kAll, 3)).floats("scale", {1, 1, 2}).floats("base", noise(kAll, 4)).run();
  const Floats y = eval.floats("y");
  for (std::size_t a = 0; a < kN; ++a) {
    float row = 0, column = 0;
    for (std::size_t b = 0; b < kN; ++b) {
      row += y[kN + b * (kN + 1) + 1 + a];
      column += y[kN + a * (kN + 1) + 1 + b];
    }
    CHECK(std::fabs(row - 1) < 1e-4f);
    CHECK(std::fabs(column - 1) < 1e-4f);
  }
}

TEST_CASE("stream_weights: invalid arguments") {
  const TensorSpec x{f32, {5, kAll}}, scale{f32, {3}}, base{f32, {kAll}};
  const auto refused = [](const StreamWeightsAttrs& a, std::vector<TensorSpec> in) {
    return refusal(kStreamWeights, a, std::move(in));
  };
  CHECK(refused({.n = 3}, {x, scale, base}) == "accepted");
  CHECK(refused({.n = 0}, {x, scale, base}) == "ValueError: n must be 1..16, got 0");
  CHECK(refused({.n = 17}, {x, scale, base}) == "ValueError: n must be 1..16, got 17");
  CHECK(refused({.n = 3, .iterations = 0}, {x, scale, base}) ==
        "ValueError: iterations must be 1..1000, got 0");
  CHECK(refused({.n = 3, .iterations = 1001}, {x, scale, base}) ==
        "ValueError: iterations must be 1..1000, got 1001");
  CHECK(refused({.n = 3, .eps = 0}, {x, scale, base}) ==
        "ValueError: eps must be positive and finite, got 0");
  CHECK(refused({.n = 4}, {x, scale, base}) ==
        "ShapeError: x must be [T, 4] or [T, 24], got [5, 15]");
  CHECK(refused({.n = 3}, {x, {f32, {1}}, base}) == "ShapeError: scale must be [3], got [1]");
  CHECK(refused({.n = 3}, {x, scale, {f32, {3}}}) == "ShapeError: base must be [15], got [3]");
  CHECK(refused({.n = 3}, {{f16, {5, kAll}}, scale, base}) == "DTypeError: x must be F32, got F16");
}

}  // namespace
}  // namespace weft
