#include "weft/ops/rows/repeat_heads.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("repeat_heads: each head in succession") {
  Graph g;
  const Dim t = g.variable("T", 4);
  g.output("y", repeat_heads(g.input("x", {f32, {t, 2, 2}}), 6));
  Evaluator eval(g, kPadded);
  eval.extent("T", 2).floats("x", {1, 2, 3, 4, 5, 6, 7, 8}).run();
  CHECK(eval.floats("y") == Floats{1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4,  //
                                   5, 6, 5, 6, 5, 6, 7, 8, 7, 8, 7, 8});
  for (const float b : eval.bounds("y")) CHECK(b == 0);
}

TEST_CASE("repeat_heads: what lanes need") {
  const std::vector<TensorSpec> in{{f32, {3, 2, 8}}};
  const Attrs six = RepeatHeadsAttrs{6};
  CHECK(kRepeatHeads.col_granule(six, in, kRepeatHeads.infer(six, in)) == 8);
  CHECK(kRepeatHeads.map_cols(six, in, 0, {0, 24}) == ColRange{0, 8});
  CHECK(kRepeatHeads.map_cols(six, in, 0, {16, 32}) == ColRange{0, 16});
  CHECK(kRepeatHeads.map_cols(six, in, 0, {24, 48}) == ColRange{8, 16});
}

TEST_CASE("repeat_heads: invalid arguments") {
  const TensorSpec x{f32, {3, 2, 8}};
  CHECK(refusal(kRepeatHeads, RepeatHeadsAttrs{4}, {{f16, {3, 2, 8}}}) ==
        "DTypeError: x must be F32, got F16");
  CHECK(refusal(kRepeatHeads, RepeatHeadsAttrs{4}, {{f32, {3, 8}}}) ==
        "ShapeError: x must be [T, G, E], got [3, 8]");
  CHECK(refusal(kRepeatHeads, RepeatHeadsAttrs{5}, {x}) ==
        "ValueError: n_heads must be a multiple of 2, got 5");
  CHECK(refusal(kRepeatHeads, RepeatHeadsAttrs{0}, {x}) ==
        "ValueError: n_heads must be a multiple of 2, got 0");
}

}  // namespace
}  // namespace weft
