#include "weft/ops/projections/gated_linear.h"

#include "weft/ops/formats/q8_0.h"
#include "weft/ops/projections/quantize.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("gated_linear: by hand") {
  Graph g;
  const Tensor in[] = {g.input("x", {f32, {1, 1}}), g.weight("gate", {f32, {2, 1}}),
                       g.weight("up", {f32, {2, 1}})};
  add_with_definition(g, kGatedLinear, in, GatedLinearAttrs{});
  Evaluator eval(g, kPadded);
  eval.floats("x", {1}).floats("gate", {1, 100}).floats("up", {2, 3}).run();
  CHECK(eval.floats("fused")[0] == static_cast<float>(2 / (1 + std::exp(-1.0))));
  CHECK(eval.floats("fused")[1] == 300);
}

TEST_CASE("gated_linear equals its definition, on f32 and on quantized activations") {
  for (const bool quantized : {false, true}) {
    Graph g;
    const Tensor x = g.input("x", {f32, {3, 64}});
    const Tensor in[] = {quantized ? quantize(x) : x, g.weight("gate", {q8_0, {5, 64}}),
                         g.weight("up", {f16, {5, 64}})};
    add_with_definition(g, kGatedLinear, in, GatedLinearAttrs{});
    Evaluator eval(g, kPadded);
    eval.floats("x", noise(192, 1)).floats("gate", noise(320, 2)).floats("up", noise(320, 3));
    check_fused(eval.run());
  }
}

TEST_CASE("gated_linear: invalid arguments") {
  const TensorSpec x{f32, {2, 64}}, w{f32, {3, 64}};
  const GatedLinearAttrs attrs;
  CHECK(refusal(kGatedLinear, attrs, {{i32, {2, 64}}, w, w}) ==
        "DTypeError: x must be F32 or Q8A, got I32");
  CHECK(refusal(kGatedLinear, attrs, {x, {f32, {3, 63}}, w}) ==
        "ShapeError: gate must be [N, 64], got [3, 63]");
  CHECK(refusal(kGatedLinear, attrs, {x, w, {f32, {4, 64}}}) ==
        "ShapeError: up must be [3, 64], got [4, 64]");
  CHECK(refusal(kGatedLinear, attrs, {x, w, {i32, {3, 64}}}) ==
        "DTypeError: up must have a type with a codec, got I32");
}

TEST_CASE("gated_linear: attributes print by name") {
  CHECK(Attrs(GatedLinearAttrs{}).to_json() == R"({"act":"silu"})");
}

}  // namespace
}  // namespace weft
