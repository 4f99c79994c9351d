#include "weft/ops/elementwise/softplus.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("softplus: values and ends") {
  Graph g;
  g.output("y", softplus(g.input("x", {f32, {2, 4}})));
  Evaluator eval(g, kPadded);
  eval.floats("x", {0, 1, -1, 100, -100, 3e38f, INFINITY, -INFINITY}).run();
  CHECK(eval.floats("y") == Floats{0.6931471805599453f, 1.3132616875182228f, 0.3132616875182228f,
                                   100, static_cast<float>(std::exp(-100.0)), 3e38f, INFINITY, 0});
}

TEST_CASE("softplus: y(x) - y(-x) = x, above max(x, 0)") {
  Graph g;
  g.output("y", softplus(g.input("x", {f32, {2, 500}})));
  Floats x = noise(500, 1);
  for (float& v : x) v *= 12;
  for (std::size_t i = 0; i < 500; ++i) x.push_back(-x[i]);
  Evaluator eval(g, kPadded);
  const Floats y = eval.floats("x", x).run().floats("y");
  for (std::size_t i = 0; i < 500; ++i) {
    CHECK(std::fabs(static_cast<double>(y[i]) - y[i + 500] - x[i]) < 2e-6);
    CHECK(y[i] >= std::max(x[i], 0.0f));
  }
}

TEST_CASE("softplus: plain f32 keeps within the bound, x itself from 5 on does not") {
  Graph g;
  g.output("y", softplus(g.input("x", {f32, {1, 4001}})));
  Floats x, plain, by_log1p, direct, wrong;
  for (int i = -2000; i <= 2000; ++i) x.push_back(static_cast<float>(i) / 19);
  for (const float v : x) {
    plain.push_back(std::max(v, 0.0f) + std::log(1 + std::exp(-std::fabs(v))));
    by_log1p.push_back(std::max(v, 0.0f) + std::log1p(std::exp(-std::fabs(v))));
    direct.push_back(v > 20 ? v : std::log(1 + std::exp(v)));
    wrong.push_back(v > 5 ? v : std::log(1 + std::exp(v)));
  }
  Evaluator eval(g, kPadded);
  eval.floats("x", x).run();
  for (const Floats* right : {&plain, &by_log1p, &direct})
    check_close(*right, eval.floats("y"), eval.bounds("y"));
  CHECK(worst_of(wrong, eval.floats("y"), eval.bounds("y")).excess > 1000);
}

TEST_CASE("softplus: invalid arguments") {
  CHECK(refusal(kSoftplus, {}, {{f16, {2}}}) == "DTypeError: x must be F32, got F16");
}

}  // namespace
}  // namespace weft
