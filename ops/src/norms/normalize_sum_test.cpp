#include "weft/ops/norms/normalize_sum.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

struct Result {
  Result(const Floats& x, std::int64_t d, const NormalizeSumAttrs& attrs = {}) {
    Graph g;
    g.output("y", normalize_sum(g.input("x", {f32, {std::ssize(x) / d, d}}), attrs));
    Evaluator eval(g, kPadded);
    eval.floats("x", x).run();
    y = eval.floats("y");
    bounds = eval.bounds("y");
  }
  Floats y, bounds;
};

TEST_CASE("normalize_sum: rows, by hand") {
  CHECK(Result({1, 3, 5, 0, 2, -1}, 2).y == Floats{0.25f, 0.75f, 1, 0, 2, -1});
}

TEST_CASE("normalize_sum: a sum below min is replaced by min") {
  CHECK(Result({0, 0, 0x1p-20f, 0x1p-20f, -1, 0.5f}, 2).y ==
        Floats{0, 0, 0x1p-6f, 0x1p-6f, -0x1p14f, 0x1p13f});
  CHECK(Result({1, 2}, 2, {.min = 8}).y == Floats{0.125f, 0.25f});
}

TEST_CASE("normalize_sum: heads one by one, sums of 1, factors do not matter") {
  Graph g;
  g.output("y", normalize_sum(g.input("x", {f32, {4, 3, 16}})));
  Floats x = noise(192, 1);
  for (float& v : x) v = std::fabs(v) + 0.01f;
  Evaluator eval(g, kPadded);
  const Floats y = eval.floats("x", x).run().floats("y");
  for (std::size_t i = 0; i < 192; i += 16) {
    double sum = 0;
    for (std::size_t j = 0; j < 16; ++j) sum += y[i + j];
    CHECK(sum == doctest::Approx(1).epsilon(1e-6));
  }
  for (float& v : x) v *= 8;
  CHECK(eval.floats("x", x).run().floats("y") == y);
}

Floats plain_shares(const Floats& x, float min) {
  float sum = 0;
  for (const float v : x) sum += v;
  Floats y;
  for (const float v : x) y.push_back(v / std::max(sum, min));
  return y;
}

TEST_CASE("normalize_sum: plain f32 keeps within the bound, a min that is added does not") {
  for (std::uint32_t seed = 1; seed < 200; ++seed) {
    const std::size_t d = seed % 40 + 1;
    Floats x = noise(d, seed);
    if (seed % 2) {
      for (float& v : x) v = std::fabs(v);
    }
    const Result r(x, static_cast<std::int64_t>(d));
    check_close(plain_shares(x, 0x1p-14f), r.y, r.bounds);
    float sum = 0x1p-14f;
    for (const float v : x) sum += v;
    Floats wrong;
    for (const float v : x) wrong.push_back(v / sum);
    if (seed % 2 && d < 20) CHECK(worst_of(wrong, r.y, r.bounds).excess > 1);
  }
}

TEST_CASE("normalize_sum: sums that cancel keep within the bound") {
  for (const Floats& x : {Floats{1e8f, 0.1f, -1e8f}, Floats{1e8f, -1e8f, 0.1f},
                          Floats{1e6f, 0.03f, -1e6f}, Floats{3e4f, 1e-4f, -3e4f}}) {
    const Result r(x, 3);
    check_close(plain_shares(x, 0x1p-14f), r.y, r.bounds);
  }
}

TEST_CASE("normalize_sum: a row stays in one lane") {
  const TensorSpec heads{f32, {2, 3, 8}}, row{f32, {2, 24}};
  CHECK(kNormalizeSum.col_granule(NormalizeSumAttrs{}, {&heads, 1}, heads) == 8);
  CHECK(kNormalizeSum.col_granule(NormalizeSumAttrs{}, {&row, 1}, row) == 24);
}

TEST_CASE("normalize_sum: invalid arguments") {
  const NormalizeSumAttrs attrs;
  CHECK(refusal(kNormalizeSum, attrs, {{f16, {2, 4}}}) == "DTypeError: x must be F32, got F16");
  CHECK(refusal(kNormalizeSum, attrs, {{f32, {}}}) == "ShapeError: x must be [.., D], got []");
  CHECK(refusal(kNormalizeSum, NormalizeSumAttrs{0}, {{f32, {2, 4}}}) ==
        "ValueError: min must be positive and finite, got 0");
}

}  // namespace
}  // namespace weft
