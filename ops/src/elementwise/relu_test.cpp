#include "weft/ops/elementwise/relu.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("relu: values, ends, NaN stays NaN") {
  Graph g;
  g.output("y", relu(g.input("x", {f32, {2, 4}})));
  Evaluator eval(g, kPadded);
  eval.floats("x", {0, 1.5f, -1.5f, 1e-45f, INFINITY, -INFINITY, -1e-45f, NAN}).run();
  const Floats y = eval.floats("y");
  CHECK(Floats(y.begin(), y.begin() + 7) == Floats{0, 1.5f, 0, 1e-45f, INFINITY, 0, 0});
  CHECK(std::isnan(y[7]));
}

TEST_CASE("relu: max(x, 0) has the same values, y(x) - y(-x) = x") {
  Graph g;
  g.output("y", relu(g.input("x", {f32, {2, 500}})));
  Floats x = noise(500, 1), plain;
  for (std::size_t i = 0; i < 500; ++i) x.push_back(-x[i]);
  for (const float v : x) plain.push_back(std::max(v, 0.0f));
  Evaluator eval(g, kPadded);
  const Floats y = eval.floats("x", x).run().floats("y");
  CHECK(y == plain);
  for (std::size_t i = 0; i < 500; ++i) CHECK(y[i] - y[i + 500] == x[i]);
  for (const float b : eval.bounds("y")) CHECK(b == 0);
}

TEST_CASE("relu: invalid arguments") {
  CHECK(refusal(kRelu, {}, {{f16, {2}}}) == "DTypeError: x must be F32, got F16");
}

}  // namespace
}  // namespace weft
