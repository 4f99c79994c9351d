#include "weft/ops/norms/rms_norm_mul.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("rms_norm_mul equals its definition, on rows and on heads") {
  for (const Shape& shape : {Shape{3, 24}, Shape{3, 2, 12}}) {
    Graph g;
    const Tensor x = g.input("x", {f32, shape});
    const Tensor w = g.weight("w", {f32, {shape.last()}});
    add_with_definition(g, kRmsNormMul, {{x, w}}, RmsNormAttrs{1e-5f});
    Evaluator eval(g, kPadded);
    eval.floats("x", noise(72, 1)).floats("w", noise(static_cast<std::size_t>(shape.last()), 2));
    check_fused(eval.run());
  }
}

TEST_CASE("rms_norm_mul: invalid arguments") {
  const RmsNormAttrs attrs{1e-5f};
  const TensorSpec x{f32, {2, 4}};
  CHECK(refusal(kRmsNormMul, attrs, {{i32, {4}}, x}) == "DTypeError: x must be F32, got I32");
  CHECK(refusal(kRmsNormMul, attrs, {x, {f16, {4}}}) == "DTypeError: w must be F32, got F16");
  CHECK(refusal(kRmsNormMul, attrs, {x, {f32, {5}}}) == "ShapeError: w must be [4], got [5]");
  CHECK(refusal(kRmsNormMul, RmsNormAttrs{-1}, {x, {f32, {4}}}) ==
        "ValueError: eps must be positive and finite, got -1");
}

}  // namespace
}  // namespace weft
