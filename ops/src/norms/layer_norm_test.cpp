#include "weft/ops/norms/layer_norm.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

constexpr float kEps = 1e-5f;

TEST_CASE("layer_norm: rows, by hand") {
  Graph g;
  g.output("y", layer_norm(g.input("x", {f32, {3, 2}}), kEps));
  Evaluator eval(g, kPadded);
  eval.floats("x", {1, 3, 7, 7, -2, 10}).run();
  const auto over = [](double x, double variance) {
    return static_cast<float>(x / std::sqrt(variance + static_cast<double>(kEps)));
  };
  check_close(eval.floats("y"), {over(-1, 1), over(1, 1), 0, 0, over(-6, 36), over(6, 36)},
              eval.bounds("y"));
}

TEST_CASE("layer_norm: a row of one value gives 0, eps keeps equal values finite") {
  Graph g;
  g.output("y", layer_norm(g.input("x", {f32, {2, 1}}), 1e-12f));
  Evaluator eval(g, kPadded);
  eval.floats("x", {5, -1e30f}).run();
  CHECK(eval.floats("y") == Floats{0, 0});
}

TEST_CASE("layer_norm: heads are normed one by one") {
  Graph g;
  g.output("heads", layer_norm(g.input("h", {f32, {2, 3, 8}}), kEps));
  g.output("rows", layer_norm(g.input("r", {f32, {6, 8}}), kEps));
  Evaluator eval(g, kPadded);
  eval.floats("h", noise(48, 1)).floats("r", noise(48, 1)).run();
  CHECK(eval.floats("heads") == eval.floats("rows"));
}

TEST_CASE("layer_norm: mean 0 and variance 1, regardless of a constant added to the row") {
  Graph g;
  g.output("y", layer_norm(g.input("x", {f32, {1, 256}}), 1e-12f));
  Evaluator eval(g, kPadded);
  Floats x = noise(256, 3);
  for (float& v : x) v = std::round(v * 1024) / 1024;  // so that x + 64 is exact
  const Floats y = eval.floats("x", x).run().floats("y");
  double sum = 0, squares = 0;
  for (const float v : y) sum += v, squares += static_cast<double>(v) * v;
  CHECK(sum == doctest::Approx(0).epsilon(1e-5));
  CHECK(squares == doctest::Approx(256).epsilon(1e-6));
  for (float& v : x) v += 64;
  check_close(eval.floats("x", x).run().floats("y"), y, Floats(256, 1e-6f));
}

// Two passes, as a kernel does; `divisor` is D but for a mistake.
Floats plain_norm(const Floats& x, float divisor) {
  float sum = 0, squares = 0;
  for (const float v : x) sum += v;
  const float mean = sum / static_cast<float>(x.size());
  for (const float v : x) squares += (v - mean) * (v - mean);
  const float factor = 1 / std::sqrt(squares / divisor + kEps);
  Floats y;
  for (const float v : x) y.push_back((v - mean) * factor);
  return y;
}

TEST_CASE("layer_norm: plain f32 keeps within the bound, a variance over D - 1 does not") {
  for (const std::int64_t d : {2, 7, 64, 1000, 4096}) {
    for (const float offset : {0.0f, 3.0f, 1000.0f}) {
      CAPTURE(d);
      CAPTURE(offset);
      Graph g;
      g.output("y", layer_norm(g.input("x", {f32, {1, d}}), kEps));
      Floats x = noise(static_cast<std::size_t>(d), static_cast<std::uint32_t>(d));
      for (float& v : x) v += offset;
      Evaluator eval(g, kPadded);
      eval.floats("x", x).run();
      const Floats y = eval.floats("y"), bounds = eval.bounds("y");
      const auto n = static_cast<float>(d);
      check_close(plain_norm(x, n), y, bounds);
      if (offset == 0 && d < 4096) CHECK(worst_of(plain_norm(x, n - 1), y, bounds).excess > 2);
    }
  }
}

TEST_CASE("layer_norm: mean(x^2) - mean(x)^2 is a mistake where the mean is large") {
  Graph g;
  g.output("y", layer_norm(g.input("x", {f32, {1, 64}}), kEps));
  Floats x = noise(64, 1);
  for (float& v : x) v += 1000;
  float sum = 0, squares = 0;
  for (const float v : x) sum += v, squares += v * v;
  const float mean = sum / 64, factor = 1 / std::sqrt(squares / 64 - mean * mean + kEps);
  Floats wrong;
  for (const float v : x) wrong.push_back((v - mean) * factor);
  Evaluator eval(g, kPadded);
  eval.floats("x", x).run();
  CHECK(worst_of(wrong, eval.floats("y"), eval.bounds("y")).excess > 2);
}

TEST_CASE("layer_norm: a head stays in one lane") {
  const TensorSpec heads{f32, {2, 3, 8}}, row{f32, {2, 24}};
  CHECK(kLayerNorm.col_granule(LayerNormAttrs{}, {&heads, 1}, heads) == 8);
  CHECK(kLayerNorm.col_granule(LayerNormAttrs{}, {&row, 1}, row) == 24);
}

TEST_CASE("layer_norm: invalid arguments") {
  const LayerNormAttrs attrs{kEps};
  CHECK(refusal(kLayerNorm, attrs, {{f16, {2, 4}}}) == "DTypeError: x must be F32, got F16");
  CHECK(refusal(kLayerNorm, attrs, {{f32, {}}}) == "ShapeError: x must be [.., D], got []");
  CHECK(refusal(kLayerNorm, LayerNormAttrs{0}, {{f32, {2, 4}}}) ==
        "ValueError: eps must be positive and finite, got 0");
}

}  // namespace
}  // namespace weft
