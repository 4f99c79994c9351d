#include "weft/ops/rows/views.h"

#include "weft/ops/elementwise/add.h"
#include "weft/ops/formats/q8a.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("heads split and merge over the same memory") {
  Graph g;
  const Tensor x = g.input("x", {f32, {2, 6}});
  const Tensor heads = split_heads(x, 3);
  CHECK(heads.shape() == Shape{2, 3, 2});
  CHECK(merge_heads(heads).shape() == Shape{2, 6});
  g.output("y", merge_heads(heads) + merge_heads(heads));
  Evaluator eval(g, kPadded);
  eval.floats("x", noise(12, 1)).run();
  CHECK(eval.view(heads.id()).data == eval.view(x.id()).data);
  CHECK(eval.view(heads.id()).row_stride == 6 * 4 + kPadded.row_padding);
  CHECK(eval.floats("y")[11] == 2 * eval.floats("x")[11]);
}

TEST_CASE("a vector as one row, over the same memory") {
  Graph g;
  const Tensor v = g.weight("v", {f32, {6}});
  const Tensor row = merge_heads(v);
  CHECK(row.shape() == Shape{1, 6});
  CHECK(split_heads(row, 2).shape() == Shape{1, 2, 3});
  g.output("y", row + row);
  Evaluator eval(g, kPadded);
  eval.floats("v", {1, 2, 3, 4, 5, 6}).run();
  CHECK(eval.view(row.id()).data == eval.view(v.id()).data);
  CHECK(eval.floats("y") == Floats{2, 4, 6, 8, 10, 12});
}

TEST_CASE("a slice of a slice, as heads") {
  Graph g;
  const Tensor x = g.input("x", {f32, {2, 8}});
  const Tensor part = slice(slice(x, 2, 8), 1, 5);
  const Tensor heads = split_heads(part, 2);
  g.output("y", heads + heads);
  Evaluator eval(g, kPadded);
  Floats values(16);
  for (std::size_t i = 0; i < 16; ++i) values[i] = static_cast<float>(i);
  eval.floats("x", values).run();
  CHECK(eval.floats("y") == Floats{6, 8, 10, 12, 22, 24, 26, 28});
}

TEST_CASE("columns of a slice map to those of its source, in whole blocks") {
  const TensorSpec x{q8a, {2, 128}};
  CHECK(kSlice.map_cols(SliceAttrs{32, 96}, {&x, 1}, 0, {32, 64}) == ColRange{64, 96});
  CHECK(kSlice.view_col(SliceAttrs{32, 96}, {&x, 1}) == 32);
  CHECK(kSlice.col_granule(SliceAttrs{32, 96}, {&x, 1}, x) == 32);
}

TEST_CASE("views: invalid arguments") {
  const TensorSpec x{f32, {2, 6}};
  CHECK(refusal(kReshape, ReshapeAttrs{-1}, {x}) ==
        "ValueError: inner must not be negative, got -1");
  CHECK(refusal(kReshape, ReshapeAttrs{4}, {x}) ==
        "ShapeError: x must be rows of a multiple of 4 elements, got [2, 6]");
  CHECK(refusal(kReshape, ReshapeAttrs{2}, {{f32, {6}}}) ==
        "ShapeError: x must be [T, D] or [T, H, E], got [6]");
  CHECK(refusal(kReshape, ReshapeAttrs{0}, {{f32, {Dim(6, 0)}}}) ==
        "ShapeError: x must be [D] with a fixed D, got [?<=6]");
  CHECK(refusal(kReshape, ReshapeAttrs{0}, {{f32, {}}}) ==
        "ShapeError: x must be [T, D] or [T, H, E], got []");
  CHECK(refusal(kSlice, SliceAttrs{0, 2}, {{f32, {6}}}) == "ShapeError: x must be [T, D], got [6]");
  CHECK(refusal(kSlice, SliceAttrs{2, 7}, {x}) ==
        "ValueError: columns [2, 7) must be within [0, 6)");
  CHECK(refusal(kSlice, SliceAttrs{3, 3}, {x}) ==
        "ValueError: columns [3, 3) must be within [0, 6)");
  CHECK(refusal(kSlice, SliceAttrs{0, 40}, {{q8a, {2, 64}}}) ==
        "ValueError: columns [0, 40) must be whole Q8A blocks of 32");

  Graph g;
  const Tensor t = g.input("t", x);
  const unsigned line = __LINE__ + 1;
  const auto build = [&] { split_heads(t, 4); };
  const std::string expected = fmt::format(
      "split_heads: x must be rows of a multiple of 4 heads, got [2, 6] "
      "(ops/src/rows/views_test.cpp:{})",
      line);
  CHECK_THROWS_WITH_AS(build(), expected.c_str(), ShapeError);
}

}  // namespace
}  // namespace weft
