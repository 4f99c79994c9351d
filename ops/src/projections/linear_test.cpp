#include "weft/ops/projections/linear.h"

#include "weft/ops/formats/q4_k.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/formats/q8a.h"
#include "weft/ops/projections/quantize.h"
#include "weft/ops/rows/views.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("linear: by hand, with and without bias") {
  Graph g;
  const Tensor x = g.input("x", {f32, {2, 3}});
  const Tensor w = g.weight("w", {f32, {2, 3}}), b = g.weight("b", {f32, {2}});
  g.output("y", linear(x, w));
  g.output("z", linear(x, w, b));
  Evaluator eval(g, kPadded);
  eval.floats("x", {1, 2, 3, -1, 0, 1}).floats("w", {1, 0, 0, 1, 1, 1}).floats("b", {10, 20}).run();
  CHECK(eval.floats("y") == Floats{1, 6, -1, 0});
  CHECK(eval.floats("z") == Floats{11, 26, 9, 20});
}

TEST_CASE("linear: identity weights of every format with exact ones give x") {
  for (const DType dtype : {f32, f16, bf16}) {
    CAPTURE(dtype.name());
    Graph g;
    g.output("y", linear(g.input("x", {f32, {3, 32}}), g.weight("w", {dtype, {32, 32}})));
    Floats identity(32 * 32);
    for (std::size_t i = 0; i < 32; ++i) identity[i * 33] = 1;
    const Floats x = noise(96, 1);
    Evaluator eval(g, kPadded);
    eval.floats("x", x).floats("w", identity).run();
    CHECK(eval.floats("y") == x);
  }
}

TEST_CASE("linear: quantized weights and activations are decoded") {
  for (const DType dtype : {q8_0, q4_k}) {
    CAPTURE(dtype.name());
    Graph g;
    const Tensor x = quantize(g.input("x", {f32, {2, 256}})).named("xq");
    g.output("y", linear(x, g.weight("w", {dtype, {3, 256}})));
    Evaluator eval(g, kPadded);
    eval.floats("x", noise(512, 1)).floats("w", noise(768, 2)).run();
    const Floats xd = eval.floats("xq"), wd = eval.floats("w"), y = eval.floats("y");
    for (std::size_t t = 0; t < 2; ++t) {
      for (std::size_t n = 0; n < 3; ++n) {
        double sum = 0;
        for (std::size_t k = 0; k < 256; ++k) {
          sum += static_cast<double>(xd[t * 256 + k]) * wd[n * 256 + k];
        }
        CHECK(y[t * 3 + n] == static_cast<float>(sum));
      }
    }
  }
}

TEST_CASE("linear: reads a slice by its row stride") {
  Graph g;
  const Tensor x = g.input("x", {f32, {2, 4}}), w = g.weight("w", {f32, {1, 2}});
  g.output("y", linear(slice(x, 1, 3), w));
  Evaluator eval(g, kPadded);
  eval.floats("x", {0, 1, 2, 3, 4, 5, 6, 7}).floats("w", {1, 10}).run();
  CHECK(eval.floats("y") == Floats{21, 65});
}

TEST_CASE("linear: with a residual it equals its definition, also in place over it") {
  Graph g;
  const Tensor x = g.input("x", {f32, {3, 64}}), w = g.weight("w", {q8_0, {5, 64}});
  const Tensor b = g.weight("b", {f32, {5}}), r = g.input("r", {f32, {3, 5}});
  const Tensor in[] = {x, w, b, r};
  add_with_definition(g, kLinear, in, {});
  Evaluator eval(g, kPadded);
  eval.floats("x", noise(192, 1)).floats("w", noise(320, 2)).floats("b", noise(5, 3));
  check_fused(eval.floats("r", noise(15, 4)).run());
  const NodeId fused = eval.node("fused");
  kLinear.reference({}, eval.inputs(fused), eval.view(r.id()));
  CHECK(eval.floats("r") == eval.floats("fused"));
}

TEST_CASE("linear: a plain f32 sum keeps within the bound, and one missing product does not") {
  for (const std::int64_t k : {1, 31, 64, 1000}) {
    CAPTURE(k);
    Graph g;
    g.output("y", linear(g.input("x", {f32, {1, k}}), g.weight("w", {f32, {1, k}})));
    const Floats x = noise(static_cast<std::size_t>(k), 1),
                 w = noise(static_cast<std::size_t>(k), 2);
    float sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * w[i];
    Evaluator eval(g, kPadded);
    eval.floats("x", x).floats("w", w).run();
    check_close({sum}, eval.floats("y"), eval.bounds("y"));
    CHECK(std::fabs(x[0] * w[0]) > eval.bounds("y")[0]);
  }
}

TEST_CASE("linear: is named after its weight") {
  Graph g;
  const Tensor x = g.input("x", {f32, {1, 4}});
  Graph::Scope scope(g, "blk.3");
  const Tensor q = linear(x, g.weight("blk.3.attn_q.weight", {f32, {4, 4}}));
  CHECK(g[q.id()].path == "blk.3.attn_q");
  const Tensor other = linear(x, g.weight("blk.3.matrix", {f32, {4, 4}}));
  CHECK(g[other.id()].path == "blk.3.linear");
  const unsigned line = __LINE__ + 1;
  const auto build = [&] { linear(x, g.weight("blk.3.attn_k.weight", {f32, {4, 5}})); };
  const std::string expected = fmt::format(
      "linear 'blk.3.attn_k': w must be [N, 4], got [4, 5] "
      "(ops/src/projections/linear_test.cpp:{})",
      line);
  CHECK_THROWS_WITH_AS(build(), expected.c_str(), ShapeError);
}

TEST_CASE("linear: invalid arguments") {
  const TensorSpec x{f32, {2, 64}}, w{q8_0, {3, 64}}, none{};
  CHECK(refusal(kLinear, {}, {{f16, {2, 64}}, w}) == "DTypeError: x must be F32 or Q8A, got F16");
  CHECK(refusal(kLinear, {}, {{f32, {64}}, w}) == "ShapeError: x must be [T, K], got [64]");
  CHECK(refusal(kLinear, {}, {x, {i32, {3, 64}}}) ==
        "DTypeError: w must have a type with a codec, got I32");
  CHECK(refusal(kLinear, {}, {x, {f32, {64, 3}}}) == "ShapeError: w must be [N, 64], got [64, 3]");
  CHECK(refusal(kLinear, {}, {x, w, {f16, {3}}}) == "DTypeError: bias must be F32, got F16");
  CHECK(refusal(kLinear, {}, {x, w, {f32, {4}}}) == "ShapeError: bias must be [3], got [4]");
  CHECK(refusal(kLinear, {}, {x, w, none, {f16, {2, 3}}}) ==
        "DTypeError: residual must be F32, got F16");
  CHECK(refusal(kLinear, {}, {x, w, none, {f32, {3, 2}}}) ==
        "ShapeError: residual must be [2, 3], got [3, 2]");
  CHECK(refusal(kLinear, {}, {{q8a, {2, 64}}, w}) == "accepted");
}

}  // namespace
}  // namespace weft
