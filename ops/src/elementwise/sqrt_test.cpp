#include "weft/ops/elementwise/sqrt.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("sqrt: values and ends") {
  Graph g;
  g.output("y", sqrt(g.input("x", {f32, {2, 3}})));
  Evaluator eval(g, kPadded);
  eval.floats("x", {0, 1, 2.25f, 1e30f, INFINITY, -1}).run();
  const Floats y = eval.floats("y");
  CHECK(Floats(y.begin(), y.begin() + 5) ==
        Floats{0, 1, 1.5f, static_cast<float>(std::sqrt(double{1e30f})), INFINITY});
  CHECK(std::isnan(y[5]));
}

TEST_CASE("sqrt: f32 keeps within the bound, a root that is off by 1e-6 does not") {
  Graph g;
  g.output("y", sqrt(g.input("x", {f32, {1, 1000}})));
  Floats x, plain, wrong;
  for (int i = 0; i < 1000; ++i) x.push_back(static_cast<float>(i * i) * 0.37f);
  for (const float v : x) {
    plain.push_back(std::sqrt(v));
    wrong.push_back(std::sqrt(v) * 1.000001f);
  }
  Evaluator eval(g, kPadded);
  eval.floats("x", x).run();
  check_close(plain, eval.floats("y"), eval.bounds("y"));
  CHECK(worst_of(wrong, eval.floats("y"), eval.bounds("y")).excess > 1);
}

TEST_CASE("sqrt: invalid arguments") {
  CHECK(refusal(kSqrt, {}, {{f16, {2}}}) == "DTypeError: x must be F32, got F16");
}

}  // namespace
}  // namespace weft
