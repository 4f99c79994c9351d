#include "weft/ops/ids/get_ids.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

using Ints = std::vector<std::int32_t>;

Ints looked_up(const Evaluator& eval) {
  Ints got;
  const View y = eval.view(eval.node("y"));
  for (std::int64_t r = 0; r < y.rows(); ++r)
    got.insert(got.end(), y.row<std::int32_t>(r), y.row<std::int32_t>(r) + y.cols());
  return got;
}

TEST_CASE("get_ids: rows of whole numbers, within 0 .. max") {
  Graph g;
  g.output("y", get_ids(g.weight("table", {i32, {3, 2}}), g.input("ids", {i32, {4}}), 9));
  Evaluator eval(g, kPadded);
  eval.ints("table", {1, 2, -3, 40, 9, 10}).ints("ids", {2, 0, 1, 2}).run();
  CHECK(looked_up(eval) == Ints{9, 9, 1, 2, 0, 9, 9, 9});
}

TEST_CASE("get_ids: the nearest of numbers with fractions, 0 outside of the table") {
  Graph g;
  g.output("y", get_ids(g.weight("table", {f32, {2, 4}}), g.input("ids", {i32, {3}}), 9));
  Evaluator eval(g, kPadded);
  eval.floats("table", {0.4f, 0.5f, 2.5f, -1, NAN, 1e30f, 8.6f, INFINITY});
  eval.ints("ids", {1, 0, 2}).run();
  CHECK(looked_up(eval) == Ints{0, 9, 9, 9, 0, 1, 3, 0, 0, 0, 0, 0});
}

TEST_CASE("get_ids: invalid arguments") {
  const TensorSpec table{i32, {3, 2}}, ids{i32, {4}};
  CHECK(refusal(kGetIds, GetIdsAttrs{-1}, {table, ids}) ==
        "ValueError: max must not be negative, got -1");
  CHECK(refusal(kGetIds, GetIdsAttrs{1}, {{f16, {3, 2}}, ids}) ==
        "DTypeError: table must be F32, got F16");
  CHECK(refusal(kGetIds, GetIdsAttrs{1}, {{i32, {3}}, ids}) ==
        "ShapeError: table must be [N, K], got [3]");
  CHECK(refusal(kGetIds, GetIdsAttrs{1}, {table, {i32, {4, 1}}}) ==
        "ShapeError: ids must be [T], got [4, 1]");
}

}  // namespace
}  // namespace weft
