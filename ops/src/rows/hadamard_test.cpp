#include "weft/ops/rows/hadamard.h"

#include <cmath>
#include <numeric>

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

// [1, 1, E] as the op gives it, and its bounds.
struct Turned {
  Floats y, bounds;
};
Turned turned(const Floats& x) {
  Graph g;
  g.output("y", hadamard(g.input("x", {f32, {1, 1, std::ssize(x)}})));
  Evaluator eval(g, kPadded);
  eval.floats("x", x).run();
  return {eval.floats("y"), eval.bounds("y")};
}

TEST_CASE("hadamard: parts are powers of two") {
  CHECK(hadamard_part(1) == 1);
  CHECK(hadamard_part(80) == 64);
  CHECK(hadamard_part(16) == 16);
  CHECK(hadamard_part(255) == 128);
  CHECK(hadamard_part(576) == 256);
}

TEST_CASE("hadamard: sums and differences, each head on its own") {
  Graph g;
  const Dim t = g.variable("T", 3);
  g.output("y", hadamard(g.input("x", {f32, {t, 2, 4}})));
  Evaluator eval(g, kPadded);
  eval.extent("T", 1).floats("x", {1, 2, 3, 4, 8, 0, 0, 0}).run();
  CHECK(eval.floats("y") == Floats{5, -1, -2, 0, 4, 4, 4, 4});
}

TEST_CASE("hadamard: parts of a head are turned apart if its size is not a power of two") {
  Floats x(7, 0.0f);
  x[4] = 6;
  const Floats y = turned(x).y;
  CHECK(Floats(y.begin(), y.begin() + 4) == Floats{0, 0, 0, 0});
  CHECK(y[4] == y[5]);
  CHECK(y[4] == doctest::Approx(6 / std::sqrt(2.0)));
  CHECK(y[6] == 0);
}

TEST_CASE("hadamard: twice gives the head again, lengths and dot products stay") {
  for (const std::size_t e : {1, 2, 7, 40, 48, 64, 80, 96, 100, 128, 256, 576}) {
    CAPTURE(e);
    const Floats a = noise(e, 1), b = noise(e, 2);
    const Turned ta = turned(a), tb = turned(b), again = turned(ta.y);
    // Results are rounded to f32: by half an ulp, which is well within the bound.
    double dot = 0, turned_dot = 0, error = 0;
    for (std::size_t i = 0; i < e; ++i) {
      dot += double{a[i]} * b[i];
      turned_dot += double{ta.y[i]} * tb.y[i];
      error +=
          ta.bounds[i] * std::fabs(double{tb.y[i]}) + std::fabs(double{ta.y[i]}) * tb.bounds[i];
    }
    CHECK(std::fabs(dot - turned_dot) <= error);
    // The errors of the first turn go through the second one: at most their sum over its root.
    double through = std::accumulate(ta.bounds.begin(), ta.bounds.end(), 0.0);
    for (std::size_t i = 0; i < e; ++i)
      CHECK(std::fabs(double{again.y[i]} - a[i]) <= through + again.bounds[i]);
  }
}

TEST_CASE("hadamard: one large element is spread evenly") {
  Floats x(64, 0.0f);
  x[37] = -24;
  for (const float v : turned(x).y) CHECK(std::fabs(v) == 3);
}

TEST_CASE("hadamard: a wrong sign is beyond the bound") {
  const Floats x = noise(64, 3);
  const Turned t = turned(x);
  Floats wrong = t.y;
  wrong[5] = -wrong[5];
  CHECK(worst_of(wrong, t.y, t.bounds).excess > 1000);
}

TEST_CASE("hadamard: a head stays in one lane, heads are cut among ranks") {
  const std::vector<TensorSpec> in{{f32, {2, 4, 8}}};
  CHECK(kHadamard.col_granule({}, in, in[0]) == 8);
  const Cut heads{.axis = 1, .ends = {2, 4}};
  CHECK(kHadamard.cuts.inputs({}, in, in[0], heads) == std::vector{heads});
  CHECK(!kHadamard.cuts.inputs({}, in, in[0], {.axis = 2, .ends = {4, 8}}));
}

TEST_CASE("hadamard: invalid arguments") {
  CHECK(refusal(kHadamard, {}, {{f16, {2, 3, 8}}}) == "DTypeError: x must be F32, got F16");
  CHECK(refusal(kHadamard, {}, {{f32, {2, 24}}}) == "ShapeError: x must be [T, H, E], got [2, 24]");
}

}  // namespace
}  // namespace weft
