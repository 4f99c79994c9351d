#include "weft/ops/cache_write.h"

#include "weft/ops/formats/half.h"
#include "weft/ops/scale.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("cache_write: writes its cells and keeps the others, over several steps") {
  for (const DType dtype : {f32, f16}) {
    CAPTURE(dtype.name());
    Graph g;
    const Dim t = g.variable("T", 2);
    const Tensor cache = g.state("cache", {dtype, {4, 1, 2}});
    const Tensor x = g.input("x", {f32, {t, 1, 2}}), cells = g.input("cells", {i32, {t}});
    g.output("y", cache_write(cache, x, cells));
    check(g);
    Evaluator eval(g, kPadded);
    eval.floats("x", {1, 2, 3, 4}).ints("cells", {3, 0}).run();
    CHECK(eval.floats("y") == Floats{3, 4, 0, 0, 0, 0, 1, 2});
    eval.extent("T", 1).floats("x", {5, 6}).ints("cells", {1}).run();
    CHECK(eval.floats("cache") == Floats{3, 4, 5, 6, 0, 0, 1, 2});
  }
}

TEST_CASE("cache_write: rounds to f16 to nearest, ties to even, anything else is an error") {
  Graph g;
  const Tensor cache = g.state("cache", {f16, {1, 1, 4}});
  const Tensor x = g.input("x", {f32, {1, 1, 4}}), cells = g.input("cells", {i32, {1}});
  g.output("y", cache_write(cache, x, cells));
  Evaluator eval(g, kPadded);
  eval.floats("x", {1 + 0x1p-11f, 1 + 3 * 0x1p-11f, 1 + 0x1.8p-11f, 1e9f}).ints("cells", {0}).run();
  CHECK(eval.floats("y") == Floats{1, 1 + 0x1p-9f, 1 + 0x1p-10f, INFINITY});
  CHECK(eval.bounds("y") == Floats{0, 0, 0, 0});
}

TEST_CASE("cache_write: costs the rows of the step, not the cache") {
  const std::vector<TensorSpec> in{{f16, {4096, 4, 64}}, {f32, {3, 4, 64}}, {i32, {3}}};
  const Cost cost = kCacheWrite.cost({}, in, kCacheWrite.infer({}, in), {});
  CHECK(cost.bytes_read == 3 * 256 * 4 + 12);
  CHECK(cost.bytes_written == 3 * 256 * 2);
}

TEST_CASE("cache_write: refusals") {
  const TensorSpec state{f16, {8, 2, 4}}, x{f32, {3, 2, 4}}, cells{i32, {3}};
  CHECK(refusal(kCacheWrite, {}, {{i32, {8, 2, 4}}, x, cells}) ==
        "DTypeError: state must be of a type that can be written, got I32");
  CHECK(refusal(kCacheWrite, {}, {{f16, {8, 8}}, x, cells}) ==
        "ShapeError: state must be [S, G, E], got [8, 8]");
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
