#include "weft/ops/elementwise/clamp.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

Floats clamped(const Floats& x, float low, float high) {
  Graph g;
  g.output("y", clamp(g.input("x", {f32, {2, std::ssize(x) / 2}}), low, high));
  Evaluator eval(g, kPadded);
  eval.floats("x", x).run();
  for (const float b : eval.bounds("y")) CHECK(b == 0);
  return eval.floats("y");
}

TEST_CASE("clamp: values and ends") {
  CHECK(clamped({-3, -2, 0.5f, 2, 3, 1e38f}, -2, 2) == Floats{-2, -2, 0.5f, 2, 2, 2});
  CHECK(clamped({-1, 0, 7, 8}, 3, 3) == Floats{3, 3, 3, 3});
  CHECK(clamped({-INFINITY, INFINITY}, -1, 4) == Floats{-1, 4});
}

TEST_CASE("clamp: an infinite end does not limit, NaN stays NaN") {
  CHECK(clamped({-1e38f, 9}, -INFINITY, 7) == Floats{-1e38f, 7});
  CHECK(clamped({-9, INFINITY}, -7, INFINITY) == Floats{-7, INFINITY});
  const Floats y = clamped({NAN, 1}, -2, 2);
  CHECK(std::isnan(y[0]));
  CHECK(y[1] == 1);
}

TEST_CASE("clamp: results lie within the ends, values within stay") {
  const Floats x = noise(1000, 1), y = clamped(x, -0.25f, 0.5f);
  for (std::size_t i = 0; i < x.size(); ++i) {
    CHECK(y[i] >= -0.25f);
    CHECK(y[i] <= 0.5f);
    if (x[i] >= -0.25f && x[i] <= 0.5f) CHECK(y[i] == x[i]);
  }
  CHECK(clamped(y, -0.25f, 0.5f) == y);
}

TEST_CASE("clamp: invalid arguments") {
  CHECK(refusal(kClamp, ClampAttrs{0, 1}, {{f16, {2}}}) == "DTypeError: x must be F32, got F16");
  CHECK(refusal(kClamp, ClampAttrs{2, 1}, {{f32, {2}}}) ==
        "ValueError: low must be at most high, got 2 and 1");
  CHECK(refusal(kClamp, ClampAttrs{NAN, 1}, {{f32, {2}}}) ==
        "ValueError: low must be at most high, got nan and 1");
  CHECK(refusal(kClamp, ClampAttrs{1, 1}, {{f32, {2}}}) == "accepted");
}

}  // namespace
}  // namespace weft
