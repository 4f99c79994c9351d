#include "weft/ops/attention/cache_write.h"

#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/formats/half.h"

#include "op_test.h"
#include "support/cells.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("cache_write: writes its cells and keeps the others, over several steps") {
  for (const DType dtype : {f32, f16}) {
    CAPTURE(dtype.name());
    Graph g;
    const Dim t = g.variable("T", 2);
    const Tensor cache = g.state("cache", {dtype, cache_shape(130, 2, 1)});
    const Tensor x = g.input("x", {f32, {t, 2, 1}}), cells = g.input("cells", {i32, {t}});
    g.output("y", cache_write(cache, x, cells));
    check(g);
    Evaluator eval(g, kPadded);
    Floats expected(2 * 192);
    const auto expect = [&](std::size_t cell, float a, float b) {
      expected[2 * cell] = a;
      expected[2 * cell + 1] = b;
    };
    eval.floats("x", {1, 2, 3, 4}).ints("cells", {129, 0}).run();
    expect(129, 1, 2);
    expect(0, 3, 4);
    CHECK(from_cells(eval.floats("y"), 192, 2, 1) == expected);
    eval.extent("T", 1).floats("x", {5, 6}).ints("cells", {63}).run();
    expect(63, 5, 6);
    CHECK(from_cells(eval.floats("cache"), 192, 2, 1) == expected);
    CHECK(eval.floats("cache")[63] == 5);
    CHECK(eval.floats("cache")[127] == 6);
  }
}

TEST_CASE("cache_write: rounds to f16 to nearest, ties to even, anything else is an error") {
  Graph g;
  const Tensor cache = g.state("cache", {f16, cache_shape(1, 1, 4)});
  const Tensor x = g.input("x", {f32, {1, 1, 4}}), cells = g.input("cells", {i32, {1}});
  g.output("y", cache_write(cache, x, cells));
  Evaluator eval(g, kPadded);
  eval.floats("x", {1 + 0x1p-11f, 1 + 3 * 0x1p-11f, 1 + 0x1.8p-11f, 1e9f}).ints("cells", {0}).run();
  CHECK(from_cells(eval.floats("y"), 1, 1, 4) == Floats{1, 1 + 0x1p-9f, 1 + 0x1p-10f, INFINITY});
  CHECK(eval.bounds("y") == Floats(256));
}

TEST_CASE("cache_write: costs the cells of the step, not the cache") {
  const std::vector<TensorSpec> in{{f16, cache_shape(4096, 4, 64)}, {f32, {3, 4, 64}}, {i32, {3}}};
  const Cost cost = kCacheWrite.cost({}, in, kCacheWrite.infer({}, in), {});
  CHECK(cost.bytes_read == 3 * 256 * 4 + 12);
  CHECK(cost.bytes_written == 3 * 256 * 2);
}

TEST_CASE("cache_write: groups are not split, and read only their own columns") {
  const std::vector<TensorSpec> in{{f16, cache_shape(100, 4, 32)}, {f32, {3, 4, 32}}, {i32, {3}}};
  CHECK(kCacheWrite.col_granule({}, in, in[0]) == 64 * 32);
  const ColRange part{64 * 32, 3 * 64 * 32};
  CHECK(kCacheWrite.map_cols({}, in, 0, part) == part);
  CHECK(kCacheWrite.map_cols({}, in, 1, part) == ColRange{32, 96});
}

TEST_CASE("cache_write: invalid arguments") {
  const TensorSpec state{f16, {8, 2, 64, 4}}, x{f32, {3, 2, 4}}, cells{i32, {3}};
  CHECK(
      refusal(kCacheWrite, {}, {{i32, {8, 2, 64, 4}}, x, cells}) ==
      "DTypeError: state must have a cache type (F32, F16, Q8_0, Q5_1, Q5_0, Q4_1, Q4_0), got I32");
  CHECK(refusal(kCacheWrite, {}, {{f16, {512, 2, 4}}, x, cells}) ==
        "ShapeError: state must be [B, G, 64, E], got [512, 2, 4]");
  CHECK(refusal(kCacheWrite, {}, {state, {f16, {3, 2, 4}}, cells}) ==
        "DTypeError: x must be F32, got F16");
  CHECK(refusal(kCacheWrite, {}, {state, {f32, {3, 1, 4}}, cells}) ==
        "ShapeError: x must be [T, 2, 4], got [3, 1, 4]");
  CHECK(refusal(kCacheWrite, {}, {state, x, {f32, {3}}}) ==
        "DTypeError: cells must be I32, got F32");
  CHECK(refusal(kCacheWrite, {}, {state, x, {i32, {4}}}) ==
        "ShapeError: cells must be [3], got [4]");
}

}  // namespace
}  // namespace weft
