#include "weft/ops/elementwise/tanh.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("tanh: values and ends") {
  Graph g;
  g.output("y", weft::tanh(g.input("x", {f32, {2, 4}})));
  Evaluator eval(g, kPadded);
  eval.floats("x", {0, 1, -1, 0.5f, 100, -INFINITY, 1e-20f, -1e-42f}).run();
  CHECK(eval.floats("y") == Floats{0, 0.7615941559557649f, -0.7615941559557649f,
                                   0.46211715726000974f, 1, -1, 1e-20f, -1e-42f});
}

TEST_CASE("tanh: odd, and tanh(2 x) = 2 y / (1 + y^2)") {
  Graph g;
  g.output("y", weft::tanh(g.input("x", {f32, {3, 500}})));
  Floats x = noise(500, 1);
  for (std::size_t i = 0; i < 500; ++i) x.push_back(-x[i]);
  for (std::size_t i = 0; i < 500; ++i) x.push_back(2 * x[i]);
  Evaluator eval(g, kPadded);
  const Floats y = eval.floats("x", x).run().floats("y");
  for (std::size_t i = 0; i < 500; ++i) {
    const double once = y[i];
    CHECK(y[i + 500] == -y[i]);
    CHECK(y[i + 1000] == doctest::Approx(2 * once / (1 + once * once)).epsilon(1e-6));
  }
}

TEST_CASE("tanh: f32 keeps within the bound, a formula that cancels near 0 does not") {
  Graph g;
  g.output("y", weft::tanh(g.input("x", {f32, {1, 4001}})));
  Floats x, plain, cancels;
  for (int i = -2000; i <= 2000; ++i) {
    const float v = static_cast<float>(i) / 200;
    x.push_back(v * v * v);
  }
  for (const float v : x) {
    plain.push_back(std::tanh(v));
    cancels.push_back(1 - 2 / (1 + std::exp(2 * v)));
  }
  Evaluator eval(g, kPadded);
  eval.floats("x", x).run();
  check_close(plain, eval.floats("y"), eval.bounds("y"));
  CHECK(worst_of(cancels, eval.floats("y"), eval.bounds("y")).excess > 100);
}

TEST_CASE("tanh: invalid arguments") {
  CHECK(refusal(kTanh, {}, {{f16, {2}}}) == "DTypeError: x must be F32, got F16");
}

}  // namespace
}  // namespace weft
