#include "weft/ops/elementwise/silu.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("silu: values") {
  Graph g;
  g.output("y", silu(g.input("x", {f32, {2, 3}})));
  Evaluator eval(g, kPadded);
  eval.floats("x", {0, 1, -1, 100, -100, 20}).run();
  const Floats y = eval.floats("y");
  CHECK(y[0] == 0);
  CHECK(y[1] == 0.731058578630004879f);
  CHECK(y[2] == -0.268941421369995120f);
  CHECK(y[3] == 100);
  CHECK(y[4] == static_cast<float>(-100 * std::exp(-100.0)));
  CHECK(y[5] == static_cast<float>(20 / (1 + std::exp(-20.0))));
}

TEST_CASE("silu: x / (1 + exp(-x)) in plain f32 keeps within the bound, also where exp overflows") {
  Graph g;
  g.output("y", silu(g.input("x", {f32, {1, 4001}})));
  Floats x, plain;
  for (int i = -2000; i <= 2000; ++i) x.push_back(static_cast<float>(i) / 19);
  for (const float v : x) plain.push_back(v / (1 + std::exp(-v)));
  Evaluator eval(g, kPadded);
  eval.floats("x", x).run();
  check_close(plain, eval.floats("y"), eval.bounds("y"));
}

TEST_CASE("silu: invalid arguments") {
  CHECK(refusal(kSilu, {}, {{f16, {2}}}) == "DTypeError: x must be F32, got F16");
}

}  // namespace
}  // namespace weft
