#include "weft/ops/elementwise/gelu.h"

#include "elementwise/gelu_symmetry.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("gelu: values") {
  Graph g;
  g.output("y", gelu(g.input("x", {f32, {2, 4}})));
  Evaluator eval(g, kPadded);
  eval.floats("x", {0, 1, -1, 0.5f, 3, 100, -100, 3e38f}).run();
  CHECK(eval.floats("y") == Floats{0, 0.8411919906082768f, -0.15880800939172324f,
                                   0.34571400982514394f, 2.996362607918227f, 100, 0, 3e38f});
}

TEST_CASE("gelu: y(x) - y(-x) = x, small values are halved") {
  check_symmetry(gelu);
}

TEST_CASE("gelu: plain f32 keeps within the bound, other approximations do not") {
  Graph g;
  g.output("y", gelu(g.input("x", {f32, {1, 4001}})));
  Floats x, plain, by_sigmoid, by_erf, short_sigmoid;
  for (int i = -2000; i <= 2000; ++i) x.push_back(static_cast<float>(i) / 97);
  for (const float v : x) {
    const float u = 0.797884561f * (v + 0.044715f * v * v * v);
    plain.push_back(0.5f * v * (1 + std::tanh(u)));
    by_sigmoid.push_back(v / (1 + std::exp(-2 * u)));
    by_erf.push_back(0.5f * v * (1 + std::erf(v * 0.707106781f)));
    short_sigmoid.push_back(v / (1 + std::exp(-1.702f * v)));
  }
  Evaluator eval(g, kPadded);
  eval.floats("x", x).run();
  const Floats y = eval.floats("y"), bounds = eval.bounds("y");
  check_close(plain, y, bounds);
  check_close(by_sigmoid, y, bounds);
  CHECK(worst_of(by_erf, y, bounds).excess > 100);
  CHECK(worst_of(short_sigmoid, y, bounds).excess > 100);
}

TEST_CASE("gelu: invalid arguments") {
  CHECK(refusal(kGelu, {}, {{f16, {2}}}) == "DTypeError: x must be F32, got F16");
}

}  // namespace
}  // namespace weft
