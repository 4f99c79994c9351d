#include "weft/ops/exp.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("exp: values") {
  Graph g;
  g.output("y", exp(g.input("x", {f32, {2, 4}})));
  Evaluator eval(g, kPadded);
  eval.floats("x", {0, 1, -1, -100, 100, -200, INFINITY, -INFINITY}).run();
  CHECK(eval.floats("y") == Floats{1, 2.71828182845904524f, 0.367879441171442322f,
                                   static_cast<float>(std::exp(-100.0)), INFINITY, 0, INFINITY, 0});
}

TEST_CASE("exp: plain f32 keeps within the bound, its first terms do not") {
  Graph g;
  g.output("y", exp(g.input("x", {f32, {1, 4001}})));
  Floats x, plain, series;
  for (int i = -2000; i <= 2000; ++i) x.push_back(static_cast<float>(i) / 23);
  for (const float v : x) {
    plain.push_back(std::exp(v));
    series.push_back(1 + v + v * v / 2);
  }
  Evaluator eval(g, kPadded);
  eval.floats("x", x).run();
  check_close(plain, eval.floats("y"), eval.bounds("y"));
  CHECK(worst_of(series, eval.floats("y"), eval.bounds("y")).excess > 1000);
}

TEST_CASE("exp: invalid arguments") {
  CHECK(refusal(kExp, {}, {{f16, {2}}}) == "DTypeError: x must be F32, got F16");
}

}  // namespace
}  // namespace weft
