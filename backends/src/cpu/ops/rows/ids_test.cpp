// Ops on ids and positions.

#include <limits>

#include <doctest/doctest.h>

#include "weft/ops/ids/divide_ids.h"
#include "weft/ops/ids/get_ids.h"
#include "weft/ops/ids/ids_to_floats.h"
#include "weft/ops/ids/negate_ids.h"
#include "weft/ops/ids/remainder_ids.h"
#include "weft/ops/ids/replace_id.h"
#include "weft/ops/ids/round_to_ids.h"
#include "weft/ops/positions/shift_positions.h"

#include "cpu/kernel_test.h"

namespace weft::test {
namespace {

using Ints = std::vector<std::int32_t>;

TEST_CASE("ops on ids: the integers of the definitions") {
  Graph g;
  const Tensor pos = g.input("pos", {i32, {6}}), limit = g.input("limit", {i32, {6}}),
               ids = g.input("ids", {i32, {2, 3}});
  g.output("divided", divide_ids(ids, 3));
  g.output("floats", ids_to_floats(pos, 5));
  g.output("negated", negate_ids(pos));
  g.output("rest", remainder_ids(ids, 7));
  g.output("replaced", replace_id(pos, limit, {.from = 8, .to = 77}));
  g.output("before", shift_positions(pos, {.offset = -3, .step = 4}));
  g.output("after", shift_positions(pos, {.offset = INT32_MAX, .step = 2}, limit));
  Evaluator eval(g, kOddRows);
  eval.ints("pos", {0, 2, 3, 8, 1 << 24, INT32_MAX}).ints("limit", {0, 9, 1, 5, INT32_MAX, 1});
  eval.ints("ids", {0, 2, 3, 5, 600, INT32_MAX}).run();
  for (const char* path : {"divided", "floats", "negated", "rest", "replaced", "before", "after"}) {
    CAPTURE(path);
    check_kernel(g, eval, path, 1);
  }
}

TEST_CASE("get_ids: tables of both types, ids outside") {
  for (const DType type : {i32, f32}) {
    Graph g;
    g.output("y", get_ids(g.weight("table", {type, {7, 5}}), g.input("ids", {i32, {6}}), 3));
    Evaluator eval(g, kOddRows);
    if (type == f32) {
      Floats table = noise(35, 1);
      for (float& x : table) x *= 6;
      eval.floats("table", table);
    } else {
      Ints table;
      for (std::int32_t i = 0; i < 35; ++i) table.push_back(i % 9 - 2);
      eval.ints("table", table);
    }
    eval.ints("ids", {0, 6, 3, -1, 7, 2}).run();
    check_kernel(g, eval, "y", 1);
  }
}

TEST_CASE("round_to_ids: halves, both ends, NaN") {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const std::int32_t max : {0, 1, 100, INT32_MAX}) {
    Graph g;
    g.output("y", round_to_ids(g.input("x", {f32, {2, 8}}), max));
    Evaluator eval(g, kOddRows);
    eval.floats(
        "x", {0.49999997f, 0.5f, 1.5f, 2.5f, -0.5f, -7, 8388609, 2147483520.0f, 3e9f, kInf, -kInf,
              std::numeric_limits<float>::quiet_NaN(), 99.5f, 100.5f, 1e-40f, -0.0f});
    eval.run();
    check_kernel(g, eval, "y", 1);
  }
}

}  // namespace
}  // namespace weft::test
