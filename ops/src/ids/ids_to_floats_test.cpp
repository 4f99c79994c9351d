#include "weft/ops/ids/ids_to_floats.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("ids_to_floats: every id fills its row") {
  Graph g;
  const Dim t = g.variable("T", 8);
  const Tensor y = ids_to_floats(g.input("ids", {i32, {t}}), 2);
  g.output("y", y);
  CHECK(to_string(g[y.id()].spec) == "F32 [?<=8, 2]");
  Evaluator eval(g, kPadded);
  eval.extent("T", 4).ints("ids", {3, 0, -1, 1 << 24}).run();
  CHECK(eval.floats("y") == Floats{3, 3, 0, 0, -1, -1, 0x1p24f, 0x1p24f});
}

TEST_CASE("ids_to_floats: invalid arguments") {
  const IdsToFloatsAttrs attrs;
  CHECK(refusal(kIdsToFloats, attrs, {{f32, {2}}}) == "DTypeError: ids must be I32, got F32");
  CHECK(refusal(kIdsToFloats, attrs, {{i32, {2, 1}}}) == "ShapeError: ids must be [T], got [2, 1]");
  CHECK(refusal(kIdsToFloats, IdsToFloatsAttrs{0}, {{i32, {2}}}) ==
        "ValueError: width must be positive and finite, got 0");
}

}  // namespace
}  // namespace weft
