#include "weft/ops/projections/head_linear.h"

#include "weft/ops/formats/q8_0.h"
#include "weft/ops/projections/linear.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("head_linear: by hand") {
  Graph g;
  g.output("y", head_linear(g.input("x", {f32, {2, 2, 2}}), g.weight("w", {f32, {2, 3, 2}})));
  Evaluator eval(g, kPadded);
  eval.floats("x", {1, 2, 3, 4, 5, 6, 7, 8}).floats("w", {1, 0, 0, 1, 1, 1, 2, 0, 0, 3, 1, -1});
  CHECK(eval.run().floats("y") == Floats{1, 2, 3, 6, 12, -1, 5, 6, 11, 14, 24, -1});
}

TEST_CASE("head_linear: is linear with the head's matrix, for any format") {
  for (const DType dtype : {f32, f16, q8_0}) {
    CAPTURE(dtype.name());
    Graph g;
    g.output("y", head_linear(g.input("x", {f32, {2, 3, 64}}), g.weight("w", {dtype, {3, 5, 64}})));
    Evaluator eval(g, kPadded);
    eval.floats("x", noise(384, 1)).floats("w", noise(960, 2)).run();
    Graph plain;
    plain.output("y", linear(plain.input("x", {f32, {1, 64}}), plain.weight("w", {f32, {5, 64}})));
    Evaluator one(plain, kPadded);
    const Floats x = eval.floats("x"), w = eval.floats("w"), y = eval.floats("y");
    for (std::size_t i = 0; i < 6; ++i) {
      one.floats("x", std::span(x).subspan(i * 64, 64));
      one.floats("w", std::span(w).subspan(i % 3 * 320, 320)).run();
      CHECK(one.floats("y") == Floats(&y[i * 5], &y[i * 5] + 5));
    }
  }
}

TEST_CASE("head_linear: plain f32 keeps within the bound, a forgotten product does not") {
  for (const std::uint32_t seed : {1u, 2u, 3u, 4u, 5u}) {
    constexpr std::size_t kK = 300, kN = 7;
    Graph g;
    g.output("y", head_linear(g.input("x", {f32, {1, 1, kK}}), g.weight("w", {f32, {1, kN, kK}})));
    const Floats x = noise(kK, seed), w = noise(kN * kK, seed + 100);
    Floats plain(kN), wrong(kN);
    for (std::size_t n = 0; n < kN; ++n) {
      for (std::size_t k = 0; k < kK; ++k) {
        plain[n] += x[k] * w[n * kK + k];
        if (k != 17) wrong[n] += x[k] * w[n * kK + k];
      }
    }
    Evaluator eval(g, kPadded);
    eval.floats("x", x).floats("w", w).run();
    check_close(plain, eval.floats("y"), eval.bounds("y"));
    CHECK(worst_of(wrong, eval.floats("y"), eval.bounds("y")).excess > 2);
  }
}

TEST_CASE("head_linear: cost, lanes and name") {
  const std::vector<TensorSpec> in{{f32, {2, 3, 64}}, {q8_0, {3, 5, 64}}};
  const TensorSpec out = kHeadLinear.infer({}, in);
  const Cost cost = kHeadLinear.cost({}, in, out, {});
  CHECK(cost.bytes_read == 2 * 3 * 64 * 4 + 3 * 5 * 68);
  CHECK(cost.bytes_written == 2 * 3 * 5 * 4);
  CHECK(cost.multiply_adds == 2 * 3 * 5 * 64);
  CHECK(kHeadLinear.col_granule({}, in, out) == 5);
  Graph g;
  const Tensor w = g.weight("blk.0.attn_k_b.weight", {f32, {3, 5, 4}});
  CHECK(g[head_linear(g.input("x", {f32, {1, 3, 4}}), w).id()].path == "blk.0.attn_k_b");
}

TEST_CASE("head_linear: invalid arguments") {
  const TensorSpec x{f32, {2, 3, 8}}, w{f16, {3, 5, 8}};
  const auto refused = [](const TensorSpec& a, const TensorSpec& b) {
    return refusal(kHeadLinear, {}, {a, b});
  };
  CHECK(refused({f16, {2, 3, 8}}, w) == "DTypeError: x must be F32, got F16");
  CHECK(refused({f32, {2, 24}}, w) == "ShapeError: x must be [T, H, K], got [2, 24]");
  CHECK(refused(x, {i32, {3, 5, 8}}) == "DTypeError: w must have a type with a codec, got I32");
  CHECK(refused(x, {f16, {5, 8}}) == "ShapeError: w must be [3, N, 8], got [5, 8]");
  CHECK(refused(x, {f16, {2, 5, 8}}) == "ShapeError: w must be [3, N, 8], got [2, 5, 8]");
  CHECK(refused(x, {f16, {3, 5, 9}}) == "ShapeError: w must be [3, N, 8], got [3, 5, 9]");
  CHECK(refused(x, {q8_0, {3, 4, 8}}) == "ShapeError: K must be a multiple of 32 for Q8_0, got 8");
}

}  // namespace
}  // namespace weft
