#include "weft/ops/elementwise/sigmoid.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("sigmoid: values") {
  Graph g;
  g.output("y", sigmoid(g.input("x", {f32, {2, 4}})));
  Evaluator eval(g, kPadded);
  const float log3 = static_cast<float>(std::log(3.0));
  eval.floats("x", {0, 1, -1, log3, 100, -100, INFINITY, -INFINITY}).run();
  const Floats y = eval.floats("y");
  CHECK(y[0] == 0.5f);
  CHECK(y[1] == 0.731058578630004879f);
  CHECK(y[2] == 0.268941421369995120f);
  CHECK(y[3] == doctest::Approx(0.75).epsilon(1e-7));
  CHECK(y[4] == 1);
  CHECK(y[5] == static_cast<float>(std::exp(-100.0)));
  CHECK(y[6] == 1);
  CHECK(y[7] == 0);
}

TEST_CASE("sigmoid: y(x) + y(-x) = 1") {
  Graph g;
  g.output("y", sigmoid(g.input("x", {f32, {2, 500}})));
  Floats x = noise(500, 1);
  for (float& v : x) v *= 12;
  for (std::size_t i = 0; i < 500; ++i) x.push_back(-x[i]);
  Evaluator eval(g, kPadded);
  const Floats y = eval.floats("x", x).run().floats("y");
  for (std::size_t i = 0; i < 500; ++i) {
    CHECK(static_cast<double>(y[i]) + y[i + 500] == doctest::Approx(1).epsilon(1e-7));
    CHECK((y[i] > 0.5f) == (x[i] > 0));
  }
}

TEST_CASE("sigmoid: plain f32 keeps within the bound, also if exp overflows, but not by tanh") {
  Graph g;
  g.output("y", sigmoid(g.input("x", {f32, {1, 4001}})));
  Floats x, plain, by_tanh;
  for (int i = -2000; i <= 2000; ++i) x.push_back(static_cast<float>(i) / 19);
  for (const float v : x) {
    plain.push_back(1 / (1 + std::exp(-v)));
    by_tanh.push_back(0.5f * (1 + std::tanh(v / 2)));  // cancels if v is far below 0
  }
  Evaluator eval(g, kPadded);
  eval.floats("x", x).run();
  check_close(plain, eval.floats("y"), eval.bounds("y"));
  CHECK(worst_of(by_tanh, eval.floats("y"), eval.bounds("y")).excess > 1000);
}

TEST_CASE("sigmoid: invalid arguments") {
  CHECK(refusal(kSigmoid, {}, {{f16, {2}}}) == "DTypeError: x must be F32, got F16");
}

}  // namespace
}  // namespace weft
