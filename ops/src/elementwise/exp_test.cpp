#include "weft/ops/elementwise/exp.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("exp: values and ends") {
  Graph g;
  g.output("y", exp(g.input("x", {f32, {2, 3}})));
  Evaluator eval(g, kPadded);
  eval.floats("x", {0, 1, -1, 100, -INFINITY, INFINITY}).run();
  CHECK(eval.floats("y") ==
        Floats{1, 2.718281828459045f, 0.36787944117144233f, INFINITY, 0, INFINITY});
}

TEST_CASE("exp: plain f32 keeps within the bound, a power of a rounded e does not") {
  Graph g;
  g.output("y", exp(g.input("x", {f32, {1, 3001}})));
  Floats x, plain, wrong;
  for (int i = -2000; i <= 1000; ++i) x.push_back(static_cast<float>(i) / 19);
  for (const float v : x) {
    plain.push_back(std::exp(v));
    wrong.push_back(std::pow(2.7182f, v));
  }
  Evaluator eval(g, kPadded);
  eval.floats("x", x).run();
  check_close(plain, eval.floats("y"), eval.bounds("y"));
  CHECK(worst_of(wrong, eval.floats("y"), eval.bounds("y")).excess > 100);
}

TEST_CASE("exp: invalid arguments") {
  CHECK(refusal(kExp, {}, {{f16, {2}}}) == "DTypeError: x must be F32, got F16");
}

}  // namespace
}  // namespace weft
