#include "weft/ops/rows/pad_heads.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("pad_heads: zeros behind every head") {
  Graph g;
  const Dim t = g.variable("T", 3);
  g.output("y", pad_heads(g.input("x", {f32, {t, 2, 2}}), 3));
  Evaluator eval(g, kPadded);
  eval.extent("T", 2).floats("x", {1, 2, 3, 4, 5, 6, 7, 8}).run();
  CHECK(eval.floats("y") == Floats{1, 2, 0, 3, 4, 0, 5, 6, 0, 7, 8, 0});
}

TEST_CASE("pad_heads: a head stays in one lane, heads are cut among ranks") {
  const std::vector<TensorSpec> in{{f32, {2, 4, 5}}};
  const TensorSpec out{f32, {2, 4, 8}};
  CHECK(kPadHeads.col_granule(PadHeadsAttrs{8}, in, out) == 8);
  const Cut heads{.axis = 1, .ends = {2, 4}};
  CHECK(kPadHeads.cuts.inputs(PadHeadsAttrs{8}, in, out, heads) == std::vector{heads});
}

TEST_CASE("pad_heads: invalid arguments") {
  CHECK(refusal(kPadHeads, PadHeadsAttrs{9}, {{f32, {2, 3, 8}}}) == "accepted");
  CHECK(refusal(kPadHeads, PadHeadsAttrs{7}, {{f32, {2, 3, 8}}}) ==
        "ValueError: width must be at least 8, got 7");
  CHECK(refusal(kPadHeads, PadHeadsAttrs{9}, {{f16, {2, 3, 8}}}) ==
        "DTypeError: x must be F32, got F16");
  CHECK(refusal(kPadHeads, PadHeadsAttrs{30}, {{f32, {2, 24}}}) ==
        "ShapeError: x must be [T, H, E], got [2, 24]");
}

}  // namespace
}  // namespace weft
