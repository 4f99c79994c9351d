#include "weft/ops/exp.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("exp: values and ends") {
  Graph g;
  g.output("y", exp(g.input("x", {f32, {2, 4}})));
  Evaluator eval(g, kPadded);
  eval.floats("x", {0, 1, -1, 10, 89, -200, INFINITY, -INFINITY}).run();
  CHECK(eval.floats("y") == Floats{1, 2.718281828459045f, 0.36787944117144233f, 22026.465794806718f,
                                   INFINITY, 0, INFINITY, 0});
}

TEST_CASE("exp: a sum becomes a product") {
  Graph g;
  g.output("y", exp(g.input("x", {f32, {3, 200}})));
  Floats x = noise(200, 1);
  const Floats other = noise(200, 2);
  x.insert(x.end(), other.begin(), other.end());
  for (std::size_t i = 0; i < 200; ++i) x.push_back(x[i] + other[i]);
  Evaluator eval(g, kPadded);
  const Floats y = eval.floats("x", x).run().floats("y");
  for (std::size_t i = 0; i < 200; ++i)
    CHECK(y[400 + i] == doctest::Approx(double{y[i]} * y[200 + i]).epsilon(1e-6));
}

TEST_CASE("exp: plain f32 keeps within the bound, a polynomial of degree 5 does not") {
  Graph g;
  g.output("y", exp(g.input("x", {f32, {1, 4001}})));
  Floats x, plain, wrong;
  for (int i = -2000; i <= 2000; ++i) x.push_back(static_cast<float>(i) / 23);
  for (const float v : x) {
    plain.push_back(std::exp(v));
    const float n = std::round(v * 1.44269504f), r = v - n * 0.693147181f;
    const float sum = 1 + r * (1 + r * (1.f / 2 + r * (1.f / 6 + r * (1.f / 24 + r / 120))));
    wrong.push_back(std::ldexp(sum, static_cast<int>(n)));
  }
  Evaluator eval(g, kPadded);
  eval.floats("x", x).run();
  check_close(plain, eval.floats("y"), eval.bounds("y"));
  CHECK(worst_of(wrong, eval.floats("y"), eval.bounds("y")).excess > 5);
}

TEST_CASE("exp: invalid arguments") {
  CHECK(refusal(kExp, {}, {{f16, {2}}}) == "DTypeError: x must be F32, got F16");
}

}  // namespace
}  // namespace weft
