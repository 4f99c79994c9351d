#include "weft/ops/ids/gaussian_top_k.h"

#include <cmath>

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

struct Result {
  Result(const Floats& x, std::int64_t d, float deviations) {
    Graph g;
    g.output("y", gaussian_top_k(g.input("x", {f32, {std::ssize(x) / d, d}}), deviations));
    Evaluator eval(g, kPadded);
    eval.floats("x", x).run();
    y = eval.floats("y"), bounds = eval.bounds("y");
  }
  Floats y, bounds;
};

TEST_CASE("gaussian_top_k: rows, by hand") {
  // Means 2 and 0, standard deviations sqrt(2) and 0.
  CHECK(Result({1, 3, 0, 0}, 2, 0).y == Floats{0, 1, 0, 0});
  const auto half = static_cast<float>(1 - 0.5 * std::sqrt(2.0));
  CHECK(Result({1, 3, 0, 0}, 2, 0.5f).y == Floats{0, half, 0, 0});
  const auto below = static_cast<float>(std::sqrt(2.0) - 1);
  CHECK(Result({1, 3, 0, 0}, 2, -1).y[0] == below);
}

TEST_CASE("gaussian_top_k: heads one by one, adding a constant changes nothing") {
  Graph g;
  g.output("y", gaussian_top_k(g.input("x", {f32, {3, 2, 16}}), 0.5f));
  Floats x = noise(96, 1);
  Evaluator eval(g, kPadded);
  const Floats y = eval.floats("x", x).run().floats("y");
  CHECK(y == Result(x, 16, 0.5f).y);
  for (float& v : x) v += 1;
  const Floats shifted = eval.floats("x", x).run().floats("y");
  for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::fabs(shifted[i] - y[i]) < 1e-6);
}

TEST_CASE("gaussian_top_k: keeps about a twentieth above 1.645 deviations") {
  Floats x;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {  // sums of uniform noise are nearly normal
    const Floats part = noise(4000, seed);
    x.resize(part.size());
    for (std::size_t i = 0; i < part.size(); ++i) x[i] += part[i];
  }
  const Floats y = Result(x, 4000, 1.644854f).y;
  const auto kept = std::ranges::count_if(y, [](float v) { return v > 0; });
  CHECK(kept > 120);
  CHECK(kept < 280);
}

TEST_CASE("gaussian_top_k: plain f32 keeps within the bound, a division by D does not") {
  for (std::uint32_t seed = 1; seed < 100; ++seed) {
    const std::size_t d = seed % 40 + 2;
    const Floats x = noise(d, seed);
    const auto plain = [&](float divisor) {
      float mean = 0, squares = 0;
      for (const float v : x) mean += v;
      mean /= static_cast<float>(d);
      for (const float v : x) squares += (v - mean) * (v - mean);
      Floats y;
      for (const float v : x)
        y.push_back(std::max(v - (mean - 1.5f * std::sqrt(squares / divisor)), 0.0f));
      return y;
    };
    const Result r(x, static_cast<std::int64_t>(d), -1.5f);
    check_close(plain(static_cast<float>(d - 1)), r.y, r.bounds);
    CHECK(worst_of(plain(static_cast<float>(d)), r.y, r.bounds).excess > 100);
  }
}

TEST_CASE("gaussian_top_k: a row stays in one lane") {
  const TensorSpec heads{f32, {2, 3, 8}};
  CHECK(kGaussianTopK.col_granule(GaussianTopKAttrs{}, {&heads, 1}, heads) == 8);
}

TEST_CASE("gaussian_top_k: invalid arguments") {
  const GaussianTopKAttrs attrs;
  CHECK(refusal(kGaussianTopK, attrs, {{f16, {2, 4}}}) == "DTypeError: x must be F32, got F16");
  CHECK(refusal(kGaussianTopK, attrs, {{f32, {2, 1}}}) ==
        "ShapeError: x must be [.., D] with D at least 2, got [2, 1]");
  CHECK(refusal(kGaussianTopK, GaussianTopKAttrs{INFINITY}, {{f32, {2, 4}}}) ==
        "ValueError: deviations must be finite, got inf");
}

}  // namespace
}  // namespace weft
