#include "weft/ops/elementwise/xielu.h"

#include <cmath>

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

struct Result {
  Result(const Floats& x, const XieluAttrs& attrs) {
    Graph g;
    g.output("y", xielu(g.input("x", {f32, {2, std::ssize(x) / 2}}), attrs));
    Evaluator eval(g, kPadded);
    eval.floats("x", x).run();
    y = eval.floats("y"), bounds = eval.bounds("y");
  }
  Floats y, bounds;
};

TEST_CASE("xielu: both sides, by hand") {
  const XieluAttrs attrs{.positive = 2, .negative = 3, .beta = 0.5f, .limit = -0.25f};
  const auto at = [](double x) {
    return static_cast<float>(3 * (std::expm1(std::min(x, -0.25)) - x) + 0.5 * x);
  };
  CHECK(Result({1, 4, 0, -1, -0.125f, -100}, attrs).y ==
        Floats{2.5f, 34, at(0), at(-1), at(-0.125), at(-100)});
}

TEST_CASE("xielu: ends of the range") {
  const XieluAttrs attrs{.positive = 1, .negative = 1, .beta = 1};
  CHECK(Result({INFINITY, 1e30f, 0, -1e5f}, attrs).y == Floats{INFINITY, INFINITY, 0, -1});
  CHECK(std::isnan(Result({NAN, 0}, attrs).y[0]));
}

TEST_CASE("xielu: without a limit, the slope at 0 is beta from both sides") {
  const Result r({0x1p-12f, -0x1p-12f}, {.positive = 0.8f, .negative = 1.3f, .beta = 0.5f});
  CHECK(r.y[0] == doctest::Approx(0x1p-13).epsilon(1e-3));
  CHECK(r.y[1] == doctest::Approx(-0x1p-13).epsilon(1e-3));
}

TEST_CASE("xielu: plain f32 keeps within the bound, without the limit it does not") {
  const XieluAttrs a{.positive = 0.7f, .negative = 1.9f, .beta = 0.5f, .limit = -1e-3f};
  Floats x, plain, factored, wrong;
  for (int i = -1000; i < 1000; ++i) x.push_back(static_cast<float>(i) / 37);
  for (int i = -1000; i < 1000; ++i) x.push_back(static_cast<float>(i) * 1e-6f);
  for (const float v : x) {
    const float below = std::expm1(std::min(v, a.limit)), unlimited = std::expm1(v);
    plain.push_back(v > 0 ? a.positive * v * v + a.beta * v
                          : (below - v) * a.negative + a.beta * v);
    factored.push_back(v > 0 ? (a.positive * v + a.beta) * v
                             : a.negative * below + (a.beta - a.negative) * v);
    wrong.push_back(v > 0 ? plain.back() : (unlimited - v) * a.negative + a.beta * v);
  }
  const Result r(x, a);
  check_close(plain, r.y, r.bounds);
  check_close(factored, r.y, r.bounds);
  CHECK(worst_of(wrong, r.y, r.bounds).excess > 1000);
}

TEST_CASE("xielu: invalid arguments") {
  const TensorSpec x{f32, {2}};
  CHECK(refusal(kXielu, XieluAttrs{}, {{f16, {2}}}) == "DTypeError: x must be F32, got F16");
  CHECK(refusal(kXielu, XieluAttrs{.beta = NAN}, {x}) ==
        "ValueError: beta must be finite, got nan");
}

}  // namespace
}  // namespace weft
