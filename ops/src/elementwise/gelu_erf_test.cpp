#include "weft/ops/elementwise/gelu_erf.h"

#include "elementwise/gelu_symmetry.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("gelu_erf: values") {
  Graph g;
  g.output("y", gelu_erf(g.input("x", {f32, {2, 4}})));
  Evaluator eval(g, kPadded);
  eval.floats("x", {0, 1, -1, 0.5f, 3, 100, -100, 3e38f}).run();
  CHECK(eval.floats("y") == Floats{0, 0.8413447460685429f, -0.15865525393145707f,
                                   0.34573123063700656f, 2.99595030590511f, 100, 0, 3e38f});
}

TEST_CASE("gelu_erf: y(x) - y(-x) = x, small values are halved") {
  check_symmetry(gelu_erf);
}

TEST_CASE("gelu_erf: plain f32 keeps within the bound, other approximations do not") {
  Graph g;
  g.output("y", gelu_erf(g.input("x", {f32, {1, 4001}})));
  Floats x, plain, by_tanh, short_sigmoid;
  for (int i = -2000; i <= 2000; ++i) x.push_back(static_cast<float>(i) / 97);
  for (const float v : x) {
    const float u = 0.797884561f * (v + 0.044715f * v * v * v);
    plain.push_back(0.5f * v * (1 + std::erf(v * 0.707106781f)));
    by_tanh.push_back(0.5f * v * (1 + std::tanh(u)));
    short_sigmoid.push_back(v / (1 + std::exp(-1.702f * v)));
  }
  Evaluator eval(g, kPadded);
  eval.floats("x", x).run();
  const Floats y = eval.floats("y"), bounds = eval.bounds("y");
  check_close(plain, y, bounds);
  CHECK(worst_of(by_tanh, y, bounds).excess > 100);
  CHECK(worst_of(short_sigmoid, y, bounds).excess > 100);
}

TEST_CASE("gelu_erf: invalid arguments") {
  CHECK(refusal(kGeluErf, {}, {{f16, {2}}}) == "DTypeError: x must be F32, got F16");
}

}  // namespace
}  // namespace weft
