#include "weft/ops/elementwise/scale.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("scale: every element times the factor") {
  Graph g;
  g.output("y", scale(g.input("x", {f32, {2, 1, 2}}), -0.5f));
  Evaluator eval(g, kPadded);
  eval.floats("x", {1, 2, -4, 0}).run();
  CHECK(eval.floats("y") == Floats{-0.5f, -1, 2, 0});
}

TEST_CASE("scale: invalid arguments") {
  CHECK(refusal(kScale, ScaleAttrs{}, {{i32, {2}}}) == "DTypeError: x must be F32, got I32");
  CHECK(refusal(kScale, ScaleAttrs{NAN}, {{f32, {2}}}) ==
        "ValueError: factor must be finite, got nan");
}

}  // namespace
}  // namespace weft
