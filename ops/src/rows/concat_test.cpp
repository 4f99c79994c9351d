#include "weft/ops/rows/concat.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("concat: rows side by side") {
  Graph g;
  const Tensor a = g.input("a", {f32, {2, 1}}), b = g.input("b", {f32, {2, 2}});
  const Tensor parts[] = {a, b, a};
  g.output("y", concat(parts));
  Evaluator eval(g, kPadded);
  eval.floats("a", {1, 2}).floats("b", {3, 4, 5, 6}).run();
  CHECK(eval.floats("y") == Floats{1, 3, 4, 1, 2, 5, 6, 2});
}

TEST_CASE("concat: columns map to the part that holds them") {
  const std::vector<TensorSpec> in{{f32, {2, 4}}, {f32, {2, 6}}};
  CHECK(kConcat.map_cols({}, in, 0, {2, 7}) == ColRange{2, 4});
  CHECK(kConcat.map_cols({}, in, 1, {2, 7}) == ColRange{0, 3});
  CHECK(kConcat.map_cols({}, in, 1, {0, 4}) == ColRange{0, 0});
}

TEST_CASE("concat: invalid arguments") {
  const TensorSpec a{f32, {2, 4}};
  CHECK(refusal(kConcat, {}, {a, {i32, {2, 4}}}) == "DTypeError: x_1 must be F32, got I32");
  CHECK(refusal(kConcat, {}, {a, {f32, {3, 4}}}) == "ShapeError: x_1 must be [2, N], got [3, 4]");
  CHECK_THROWS_AS(concat({}), ValueError);
}

}  // namespace
}  // namespace weft
