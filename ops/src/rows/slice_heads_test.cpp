#include "weft/ops/rows/slice_heads.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("slice_heads: a part of every head") {
  Graph g;
  const Dim t = g.variable("T", 4);
  const Tensor y = slice_heads(g.input("x", {f32, {t, 2, 4}}), 1, 3);
  g.output("y", y);
  CHECK(to_string(g[y.id()].spec) == "F32 [?<=4, 2, 2]");
  Evaluator eval(g, kPadded);
  eval.extent("T", 2).floats("x", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}).run();
  CHECK(eval.floats("y") == Floats{1, 2, 5, 6, 9, 10, 13, 14});
  for (const float b : eval.bounds("y")) CHECK(b == 0);
}

TEST_CASE("slice_heads: the whole head is x, a slice of a slice counts from its begin") {
  Graph g;
  const Tensor x = g.input("x", {f32, {3, 4, 10}});
  g.output("whole", slice_heads(x, 0, 10));
  g.output("twice", slice_heads(slice_heads(x, 2, 9), 1, 4));
  g.output("once", slice_heads(x, 3, 6));
  const Floats values = noise(120, 1);
  Evaluator eval(g, kPadded);
  eval.floats("x", values).run();
  CHECK(eval.floats("whole") == values);
  CHECK(eval.floats("twice") == eval.floats("once"));
}

TEST_CASE("slice_heads: a head stays in one lane") {
  const std::vector<TensorSpec> in{{f32, {2, 3, 8}}};
  const SliceHeadsAttrs attrs{2, 7};
  CHECK(kSliceHeads.col_granule(attrs, in, kSliceHeads.infer(attrs, in)) == 5);
}

TEST_CASE("slice_heads: invalid arguments") {
  const auto refused = [](const TensorSpec& x, std::int64_t begin, std::int64_t end) {
    return refusal(kSliceHeads, SliceHeadsAttrs{begin, end}, {x});
  };
  const TensorSpec x{f32, {2, 3, 8}};
  CHECK(refused({f16, {2, 3, 8}}, 0, 1) == "DTypeError: x must be F32, got F16");
  CHECK(refused({f32, {2, 24}}, 0, 1) == "ShapeError: x must be [T, H, E], got [2, 24]");
  CHECK(refused(x, -1, 2) == "ValueError: elements [-1, 2) must be a part of [0, 8)");
  CHECK(refused(x, 3, 3) == "ValueError: elements [3, 3) must be a part of [0, 8)");
  CHECK(refused(x, 3, 9) == "ValueError: elements [3, 9) must be a part of [0, 8)");
  CHECK(refused(x, 0, 8) == "accepted");
}

}  // namespace
}  // namespace weft
