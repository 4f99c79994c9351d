#include "support/eval.h"

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/attention/cache_write.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/rows/get_rows.h"
#include "weft/ops/rows/views.h"

namespace weft::test {
namespace {

using Floats = std::vector<float>;

TEST_CASE("views, states, extents and padding in one graph") {
  for (const std::int64_t padding : {0, 4, 64}) {
    Graph g;
    const Dim t = g.variable("T", 3);
    const Tensor x = g.input("x", {f32, {t, 4}}), cells = g.input("cells", {i32, {t}});
    const Tensor cache = g.state("cache", {f16, cache_shape(2, 1, 2)});
    const Tensor y = split_heads(slice(x, 1, 3), 1);
    g.output("cache_after", cache_write(cache, y, cells));
    g.output("sum", y + y);
    Evaluator eval(g, {.row_padding = padding});
    eval.extent("T", 1).floats("x", {1, 2, 3, 4}).ints("cells", {1}).run();
    CHECK(eval.floats("sum") == Floats{4, 6});
    Floats expected(128);
    expected[2] = 2;
    expected[3] = 3;
    CHECK(eval.floats("cache_after") == expected);
    CHECK(eval.floats("cache") == eval.floats("cache_after"));
    CHECK(eval.bytes("cache").size() == 256);
  }
}

TEST_CASE("unwritten memory is NaN") {
  Graph g;
  const Tensor x = g.input("x", {f32, {1, 2}});
  g.output("y", x + x);
  for (const float v : Evaluator(g).run().floats("y")) CHECK(v != v);
}

TEST_CASE("wrong names and sizes are rejected") {
  Graph g;
  const Tensor ids = g.input("ids", {i32, {g.variable("T", 4)}});
  g.output("y", get_rows(g.weight("table", {f32, {3, 2}}), ids));
  Evaluator eval(g);
  CHECK_THROWS_WITH_AS(eval.extent("U", 1), "the graph has no variable 'U'", ValueError);
  CHECK_THROWS_WITH_AS(eval.extent("T", 5), "T is at most 4, got 5", ValueError);
  CHECK_THROWS_WITH_AS(eval.floats("nothing"), "the graph has no node 'nothing'", ValueError);
  CHECK_THROWS_WITH_AS(eval.floats("table", {1}), "'table' takes 6 values, got 1", ValueError);
  CHECK_THROWS_WITH_AS(eval.floats("ids", {1, 2, 3, 4}), "'ids' has no float values: it is I32",
                       ValueError);
  CHECK_THROWS_WITH_AS(eval.ints("get_rows", {1}), "'get_rows' is not an input, weight or state",
                       ValueError);
  CHECK_THROWS_WITH_AS(eval.bytes("table", {}), "'table' takes 24 bytes, got 0", ValueError);
}

}  // namespace
}  // namespace weft::test
