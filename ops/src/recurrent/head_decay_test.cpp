#include "weft/ops/recurrent/head_decay.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

Evaluator evaluated(Graph& g, const HeadDecayAttrs& attrs) {
  g.output("y", head_decay(g.input("pos", {i32, {3}}), attrs));
  Evaluator eval(g, kPadded);
  eval.ints("pos", {7, 0, 900}).run();
  return eval;
}

TEST_CASE("head_decay: slopes of 2 and 8 heads, the same for every token") {
  Graph two, eight;
  const Floats y = evaluated(two, {.heads = 2, .rate = 0.5f}).floats("y");
  const auto e = [](double x) { return static_cast<float>(std::exp(x)); };
  CHECK(y == Floats{e(-0.5 / 16), e(-0.5 / 256), e(-0.5 / 16), e(-0.5 / 256), e(-0.5 / 16),
                    e(-0.5 / 256)});
  const Floats z = evaluated(eight, {.heads = 8}).floats("y");
  for (std::size_t h = 0; h < 8; ++h) CHECK(z[16 + h] == e(-std::exp2(-1.0 - double(h))));
}

TEST_CASE("head_decay: plain f32 keeps within the bound, slopes from head 0 on do not") {
  const HeadDecayAttrs attrs{.heads = 40, .rate = 3};
  Graph g;
  const Evaluator eval = evaluated(g, attrs);
  Floats plain, wrong;
  for (int i = 0; i < 120; ++i) {
    const float start = std::pow(2.0f, -8.0f / 40), h = static_cast<float>(i % 40);
    plain.push_back(std::exp(-3 * std::exp2(-8 * (h + 1) / 40)));
    wrong.push_back(std::exp(-3 * std::pow(start, h)));
  }
  check_close(plain, eval.floats("y"), eval.bounds("y"));
  CHECK(worst_of(wrong, eval.floats("y"), eval.bounds("y")).excess > 100);
}

TEST_CASE("head_decay: invalid arguments") {
  CHECK(refusal(kHeadDecay, HeadDecayAttrs{.heads = 0}, {{i32, {2}}}) ==
        "ValueError: heads must be at least 1, got 0");
  CHECK(refusal(kHeadDecay, HeadDecayAttrs{.rate = 0}, {{i32, {2}}}) ==
        "ValueError: rate must be positive and finite, got 0");
  CHECK(refusal(kHeadDecay, HeadDecayAttrs{}, {{f32, {2}}}) ==
        "DTypeError: pos must be I32, got F32");
  CHECK(refusal(kHeadDecay, HeadDecayAttrs{}, {{i32, {2, 2}}}) ==
        "ShapeError: pos must be [T], got [2, 2]");
}

}  // namespace
}  // namespace weft
