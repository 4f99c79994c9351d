#include "weft/ops/rows/keep_rows.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("keep_rows: writes the requested rows and keeps the others, over several steps") {
  Graph g;
  const Dim t = g.variable("T", 3);
  const Tensor state = g.state("s", {f32, {4, 2}});
  const Tensor x = g.input("x", {f32, {t, 2}}), rows = g.input("rows", {i32, {t}});
  g.output("y", keep_rows(state, x, rows));
  check(g);
  Evaluator eval(g, kPadded);
  eval.floats("x", {1, 2, 3, 4, 5, 6}).ints("rows", {2, -1, 0}).run();
  CHECK(eval.floats("y") == Floats{5, 6, 0, 0, 1, 2, 0, 0});
  eval.extent("T", 1).floats("x", {7, 8}).ints("rows", {3}).run();
  CHECK(eval.floats("s") == Floats{5, 6, 0, 0, 1, 2, 7, 8});
  for (const float b : eval.bounds("y")) CHECK(b == 0);
}

TEST_CASE("keep_rows: costs the rows of the step, not the state") {
  const std::vector<TensorSpec> in{{f32, {4096, 64}}, {f32, {3, 64}}, {i32, {3}}};
  const Cost cost = kKeepRows.cost({}, in, kKeepRows.infer({}, in), {});
  CHECK(cost.bytes_read == 3 * 64 * 4 + 12);
  CHECK(cost.bytes_written == 3 * 64 * 4);
}

TEST_CASE("keep_rows: invalid arguments") {
  const TensorSpec state{f32, {8, 2, 4}}, x{f32, {3, 2, 4}}, rows{i32, {3}};
  CHECK(refusal(kKeepRows, {}, {{f16, {8, 2, 4}}, x, rows}) ==
        "DTypeError: state must be F32, got F16");
  CHECK(refusal(kKeepRows, {}, {{f32, {8}}, x, rows}) ==
        "ShapeError: state must be [R, ..], got [8]");
  CHECK(refusal(kKeepRows, {}, {state, {f32, {3, 8}}, rows}) ==
        "ShapeError: x must be [T, ..] like [8, 2, 4], got [3, 8]");
  CHECK(refusal(kKeepRows, {}, {state, x, {i32, {4}}}) == "ShapeError: rows must be [3], got [4]");
}

}  // namespace
}  // namespace weft
