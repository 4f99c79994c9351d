#include "weft/ops/elementwise/silu_mul.h"

#include <limits>

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

Graph graph(const Shape& shape) {
  Graph g;
  const Tensor in[] = {g.input("a", {f32, shape}), g.input("b", {f32, shape})};
  add_with_definition(g, kSiluMul, in, {});
  return g;
}

TEST_CASE("silu_mul: by hand, and the ends of the range") {
  const Graph g = graph({1, 5});
  Evaluator eval(g, kPadded);
  constexpr float kMax = std::numeric_limits<float>::max();
  eval.floats("a", {0, 1, 100, -200, kMax}).floats("b", {7, 2, -3, 5, 1}).run();
  const Floats y = eval.floats("fused");
  CHECK(y[0] == 0);
  CHECK(y[1] == static_cast<float>(2 / (1 + std::exp(-1.0))));
  CHECK(y[2] == -300);
  CHECK(std::fabs(y[3]) < 1e-80);
  CHECK(y[4] == kMax);
}

TEST_CASE("silu_mul equals its definition within the bound, with a and b swapped it does not") {
  const Graph g = graph({3, 2, 8});
  Evaluator eval(g, kPadded);
  const Floats a = noise(48, 1), b = noise(48, 2);
  eval.floats("a", a).floats("b", b);
  check_fused(eval.run());
  Floats swapped;
  for (std::size_t i = 0; i < a.size(); ++i) swapped.push_back(a[i] * b[i] / (1 + std::exp(-b[i])));
  CHECK(worst_of(swapped, eval.floats("fused"), eval.bounds("fused")).excess > 1000);
  for (const float bound : eval.bounds("fused")) CHECK(bound < 2e-6f);
}

TEST_CASE("silu_mul: invalid arguments") {
  const TensorSpec a{f32, {2, 8}};
  CHECK(refusal(kSiluMul, {}, {a, a}) == "accepted");
  CHECK(refusal(kSiluMul, {}, {{f16, {2, 8}}, a}) == "DTypeError: a must be F32, got F16");
  CHECK(refusal(kSiluMul, {}, {a, {i32, {2, 8}}}) == "DTypeError: b must be F32, got I32");
  CHECK(refusal(kSiluMul, {}, {a, {f32, {8}}}) == "ShapeError: b must be [2, 8], got [8]");
}

}  // namespace
}  // namespace weft
