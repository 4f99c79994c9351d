#include "weft/ops/projections/linear_concat.h"

#include "weft/ops/formats/q8_0.h"
#include "weft/ops/formats/q8a.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("linear_concat equals its definition: mixed formats, with and without biases") {
  for (const bool has_bias : {false, true}) {
    CAPTURE(has_bias);
    Graph g;
    std::vector<Tensor> in{g.input("x", {f32, {2, 32}}), g.weight("q", {q8_0, {4, 32}}),
                           g.weight("k", {f16, {2, 32}}), g.weight("v", {f32, {3, 32}})};
    if (has_bias) {
      in.push_back(g.weight("bq", {f32, {4}}));
      in.push_back(g.weight("bk", {f32, {2}}));
      in.push_back(g.weight("bv", {f32, {3}}));
    }
    add_with_definition(g, kLinearConcat, in, LinearConcatAttrs{3, has_bias});
    CHECK(to_string(g[g.find("linear_concat")].spec) == "F32 [2, 9]");
    Evaluator eval(g, kPadded);
    eval.floats("x", noise(64, 1)).floats("q", noise(128, 2)).floats("k", noise(64, 3));
    eval.floats("v", noise(96, 4));
    if (has_bias) {
      eval.floats("bq", noise(4, 5)).floats("bk", noise(2, 6)).floats("bv", noise(3, 7));
    }
    check_fused(eval.run());
  }
}

TEST_CASE("linear_concat: each part of the row is cut on its own") {
  const std::vector<TensorSpec> in{{f32, {2, 32}}, {f32, {4, 32}}, {f32, {2, 32}}, {f32, {3, 32}}};
  CHECK(kLinearConcat.col_segments(LinearConcatAttrs{3}, in) == std::vector<std::int64_t>{4, 6, 9});
}

TEST_CASE("linear_concat: invalid arguments") {
  const TensorSpec x{f32, {2, 32}}, w{f32, {4, 32}}, b{f32, {4}};
  const LinearConcatAttrs two{2}, biased{2, true};
  CHECK(refusal(kLinearConcat, LinearConcatAttrs{0}, {x, w}) ==
        "ValueError: count must be at least 1, got 0");
  CHECK(refusal(kLinearConcat, two, {x, w}) ==
        "ValueError: takes 3 inputs for 2 weights without bias, got 2");
  CHECK(refusal(kLinearConcat, biased, {x, w, w}) ==
        "ValueError: takes 5 inputs for 2 weights with bias, got 3");
  CHECK(refusal(kLinearConcat, two, {{i32, {2, 32}}, w, w}) ==
        "DTypeError: x must be F32 or Q8A, got I32");
  CHECK(refusal(kLinearConcat, two, {x, w, {f32, {4, 31}}}) ==
        "ShapeError: w_1 must be [N, 32], got [4, 31]");
  CHECK(refusal(kLinearConcat, biased, {x, w, w, b, {f16, {4}}}) ==
        "DTypeError: b_1 must be F32, got F16");
  CHECK(refusal(kLinearConcat, biased, {x, w, w, {f32, {5}}, b}) ==
        "ShapeError: b_0 must be [4], got [5]");
  CHECK(refusal(kLinearConcat, two, {{q8a, {2, 32}}, w, w}) == "accepted");
}

}  // namespace
}  // namespace weft
