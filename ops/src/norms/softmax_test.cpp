#include "weft/ops/norms/softmax.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

struct Result {
  Result(const Floats& x, std::int64_t d) {
    Graph g;
    g.output("y", softmax(g.input("x", {f32, {std::ssize(x) / d, d}})));
    Evaluator eval(g, kPadded);
    eval.floats("x", x).run();
    y = eval.floats("y");
    bounds = eval.bounds("y");
  }
  Floats y, bounds;
};

TEST_CASE("softmax: rows, by hand") {
  const Result r({0, static_cast<float>(std::log(3.0)), 5, 5}, 2);
  check_close(r.y, {0.25f, 0.75f, 0.5f, 0.5f}, r.bounds);
  CHECK(Result({-7, 3e38f}, 1).y == Floats{1, 1});
}

TEST_CASE("softmax: large values do not overflow, -infinity has no share") {
  CHECK(Result({1e30f, 1e30f, -1e30f, -1e38f}, 4).y == Floats{0.5f, 0.5f, 0, 0});
  CHECK(Result({-INFINITY, 2, -INFINITY, 2}, 4).y == Floats{0, 0.5f, 0, 0.5f});
}

TEST_CASE("softmax: NaN stays in its row") {
  const Floats y = Result({1, NAN, 2, 2}, 2).y;
  CHECK(std::isnan(y[0]));
  CHECK(std::isnan(y[1]));
  CHECK(Floats(y.begin() + 2, y.end()) == Floats{0.5f, 0.5f});
}

TEST_CASE("softmax: heads one by one, sums of 1, what is added to all does not matter") {
  Graph g;
  g.output("y", softmax(g.input("x", {f32, {2, 3, 16}})));
  Floats x = noise(96, 1);
  for (float& v : x) v = std::round(v * 1024) / 256;  // so that x + 64 is exact
  Evaluator eval(g, kPadded);
  const Floats y = eval.floats("x", x).run().floats("y");
  CHECK(y == Result(x, 16).y);
  for (std::size_t i = 0; i < 96; i += 16) {
    double sum = 0;
    for (std::size_t j = 0; j < 16; ++j) sum += y[i + j];
    CHECK(sum == doctest::Approx(1).epsilon(1e-6));
  }
  for (float& v : x) v += 64;
  CHECK(eval.floats("x", x).run().floats("y") == y);
}

TEST_CASE("softmax: plain f32 keeps within the bound, a forgotten term does not") {
  for (std::uint32_t seed = 1; seed < 60; ++seed) {
    Floats x = noise(seed * 7, seed), plain, wrong;
    for (float& v : x) v *= static_cast<float>(seed);
    const float max = *std::max_element(x.begin(), x.end());
    float sum = 0;
    for (const float v : x) sum += std::exp(v - max);
    for (const float v : x) plain.push_back(std::exp(v - max) / sum);
    const float less = sum - std::exp(x[3] - max);
    for (const float v : x) wrong.push_back(std::exp(v - max) / less);
    const Result r(x, std::ssize(x));
    check_close(plain, r.y, r.bounds);
    if (plain[3] > 1e-3f) CHECK(worst_of(wrong, r.y, r.bounds).excess > 10);
  }
}

TEST_CASE("softmax: a row stays in one lane") {
  const TensorSpec heads{f32, {2, 3, 8}}, row{f32, {2, 24}};
  CHECK(kSoftmax.col_granule({}, {&heads, 1}, heads) == 8);
  CHECK(kSoftmax.col_granule({}, {&row, 1}, row) == 24);
}

TEST_CASE("softmax: invalid arguments") {
  CHECK(refusal(kSoftmax, {}, {{f16, {2, 4}}}) == "DTypeError: x must be F32, got F16");
  CHECK(refusal(kSoftmax, {}, {{f32, {}}}) == "ShapeError: x must be [.., D], got []");
}

}  // namespace
}  // namespace weft
