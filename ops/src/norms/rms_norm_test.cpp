#include "weft/ops/norms/rms_norm.h"

#include "op_test.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("rms_norm: a row, by hand") {
  Graph g;
  g.output("y", rms_norm(g.input("x", {f32, {2, 2}}), 1e-12f));
  Evaluator eval(g, kPadded);
  eval.floats("x", {3, 4, 0, 0}).run();
  const double root = std::sqrt(12.5 + static_cast<double>(1e-12f));
  check_close(eval.floats("y"), {static_cast<float>(3 / root), static_cast<float>(4 / root), 0, 0},
              eval.bounds("y"));
}

TEST_CASE("rms_norm: heads are normed one by one") {
  Graph g;
  g.output("heads", rms_norm(g.input("h", {f32, {2, 3, 8}}), 1e-6f));
  g.output("rows", rms_norm(g.input("r", {f32, {6, 8}}), 1e-6f));
  const Floats x = noise(48, 1);
  Evaluator eval(g, kPadded);
  eval.floats("h", x).floats("r", x).run();
  CHECK(eval.floats("heads") == eval.floats("rows"));
}

TEST_CASE("rms_norm: nodes are named after the weight in any scope") {
  Graph g;
  const Tensor x = g.input("x", {f32, {1, 4}});
  const Tensor w = g.weight("blk.3.attn_norm.weight", {f32, {4}});
  Graph::Scope scope(g, "blk.3");
  const Tensor y = rms_norm(x, w, 1e-5f), again = rms_norm(x, w, 1e-5f);
  CHECK(g[y.id()].path == "blk.3.attn_norm");
  CHECK(g[g[y.id()].inputs[0]].path == "blk.3.attn_norm.rms");
  CHECK(g[again.id()].path == "blk.3.attn_norm_1");
  CHECK(g[rms_norm(x, 1e-5f).id()].path == "blk.3.rms_norm");
}

TEST_CASE("rms_norm: plain f32 keeps within the bound") {
  for (const std::int64_t d : {1, 7, 64, 1000, 4096}) {
    CAPTURE(d);
    Graph g;
    g.output("y", rms_norm(g.input("x", {f32, {1, d}}), 1e-5f));
    const Floats x = noise(static_cast<std::size_t>(d), 5);
    float sum = 0;
    for (const float v : x) sum += v * v;
    const float factor = 1 / std::sqrt(sum / static_cast<float>(d) + 1e-5f);
    Floats plain;
    for (const float v : x) plain.push_back(v * factor);
    Evaluator eval(g, kPadded);
    eval.floats("x", x).run();
    check_close(plain, eval.floats("y"), eval.bounds("y"));
  }
}

TEST_CASE("rms_norm: a head stays in one lane") {
  const TensorSpec heads{f32, {2, 3, 8}}, row{f32, {2, 24}};
  CHECK(kRmsNorm.col_granule(RmsNormAttrs{}, {&heads, 1}, heads) == 8);
  CHECK(kRmsNorm.col_granule(RmsNormAttrs{}, {&row, 1}, row) == 24);
}

TEST_CASE("rms_norm: invalid arguments") {
  const RmsNormAttrs attrs{1e-5f};
  CHECK(refusal(kRmsNorm, attrs, {{f16, {2, 4}}}) == "DTypeError: x must be F32, got F16");
  CHECK(refusal(kRmsNorm, attrs, {{f32, {}}}) == "ShapeError: x must be [.., D], got []");
  CHECK(refusal(kRmsNorm, RmsNormAttrs{0}, {{f32, {2, 4}}}) ==
        "ValueError: eps must be positive and finite, got 0");
}

}  // namespace
}  // namespace weft
