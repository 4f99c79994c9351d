#include "cpu/passes/quantize_activations.h"

#include <doctest/doctest.h>

#include "weft/backends/backend.h"
#include "weft/ops/attention/attention.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q5_0.h"
#include "weft/ops/formats/q5_1.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/formats/q8a.h"
#include "weft/ops/projections/expert_linear.h"
#include "weft/ops/projections/gated_linear.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/projections/linear_concat.h"
#include "weft/ops/projections/quantize.h"

#include "support/eval.h"
#include "support/runs.h"

namespace weft::cpu {
namespace {

const Node& at(const Graph& g, std::string_view path) {
  REQUIRE(g.find(path) != kNoNode);
  return g[g.find(path)];
}

int count_quantize(const Graph& g) {
  int n = 0;
  for (NodeId id = 0; id < g.size(); ++id) n += g[id].op == &kQuantize;
  return n;
}

TEST_CASE("projections of one activation share one quantize node") {
  Graph g;
  Tensor h = g.input("h", {f32, {2, 64}});
  {
    Graph::Scope scope(g, "blk.0");
    h = silu(h).named("norm");
    const Tensor q = linear(h, g.weight("blk.0.q.weight", {q8_0, {8, 64}}));
    const Tensor k = linear(h, g.weight("blk.0.k.weight", {q4_0, {8, 64}}));
    const Tensor in[] = {h, g.weight("gate", {q8_0, {4, 64}}), g.weight("up", {q4_0, {4, 64}})};
    const Tensor f =
        g.add(kGatedLinear, in, GatedLinearAttrs{}, std::source_location::current(), "ffn");
    g.output("q", q);
    g.output("k", k);
    g.output("f", f);
  }
  const Graph low = kQuantizeActivations.apply(g);
  check(low);
  CHECK(count_quantize(low) == 1);
  const Node& quantized = at(low, "blk.0.norm.q8a");
  CHECK(quantized.made_by == "quantize_activations");
  CHECK(quantized.spec.dtype == q8a);
  CHECK(at(low, "blk.0.norm").made_by.empty());
  for (const char* path : {"blk.0.q", "blk.0.k", "blk.0.ffn"}) {
    const Node& node = at(low, path);
    CHECK(node.made_by == "quantize_activations");
    CHECK(low[node.inputs[0]].path == "blk.0.norm.q8a");
    CHECK(node.where.line() == at(g, path).where.line());
  }
}

TEST_CASE("queries are quantized if keys are stored in quantized blocks") {
  const auto queries = [](DType keys, std::int64_t e) {
    Graph g;
    const Tensor q = g.input("q", {f32, {2, 4, e}});
    const Tensor k = g.state("k", {keys, cache_shape(64, 2, e)});
    const Tensor v = g.state("v", {q8_0, cache_shape(64, 2, 32)});
    g.output("y", attention(q, k, v, test::runs_inputs(g, 2, 64), {.scale = 1}).named("attn"));
    const Graph low = kQuantizeActivations.apply(g);
    check(low);
    return std::string(low[at(low, "attn").inputs[0]].spec.dtype.name());
  };
  CHECK(queries(q8_0, 64) == "Q8A");
  CHECK(queries(q4_0, 32) == "Q8A");
  CHECK(queries(q5_0, 32) == "Q8A");
  CHECK(queries(q5_1, 32) == "F32");  // no integer products
  CHECK(queries(f16, 64) == "F32");
}

TEST_CASE("activations of experts are quantized, and biased queries") {
  Graph g;
  const Tensor x = g.input("x", {f32, {2, 64}}), ids = g.input("ids", {i32, {2, 3}});
  const Tensor up = expert_linear(x, g.weight("up.weight", {q8_0, {5, 32, 64}}), ids);
  g.output("down", expert_linear(up, g.weight("down.weight", {q4_0, {5, 64, 32}}), ids));
  const Tensor q = g.input("q", {f32, {2, 4, 32}});
  const Tensor k = g.state("k", {q8_0, cache_shape(64, 2, 32)});
  const AttentionBias bias{.softcap = 30, .pos = {}, .sinks = {}, .distances = {}};
  g.output("y", attention(q, k, k, test::runs_inputs(g, 2, 64), {.scale = 1}, bias).named("attn"));
  const Graph low = kQuantizeActivations.apply(g);
  check(low);
  for (const char* path : {"up", "down", "attn"})
    CHECK(low[at(low, path).inputs[0]].spec.dtype == q8a);
}

TEST_CASE("weights without an integer row keep float activations, even next to ones with it") {
  Graph g;
  const Tensor x = g.input("x", {f32, {2, 64}});
  g.output("a", linear(x, g.weight("a.weight", {f16, {8, 64}})));
  const Tensor in[] = {x, g.weight("w0", {q8_0, {4, 64}}), g.weight("w1", {f32, {4, 64}})};
  g.output("b", g.add(kLinearConcat, in, LinearConcatAttrs{.count = 2},
                      std::source_location::current()));
  const Tensor already = linear(quantize(x), g.weight("c.weight", {q8_0, {4, 64}}));
  g.output("c", already);
  const Graph low = kQuantizeActivations.apply(g);
  check(low);
  CHECK(count_quantize(low) == 1);  // the one that was there
  CHECK(at(low, "a").spec == at(g, "a").spec);
}

TEST_CASE(
    "bias and residual stay where they are, the result moves by no more than the rounding of the "
    "activations") {
  Graph g;
  const Tensor x = g.input("x", {f32, {3, 64}}), r = g.input("r", {f32, {3, 5}});
  const Tensor in[] = {x, g.weight("w", {q8_0, {5, 64}}), g.weight("b", {f32, {5}}), r};
  g.output("y", g.add(kLinear, in, {}, std::source_location::current()));
  const Graph low = kQuantizeActivations.apply(g);
  const auto y_of = [&](const Graph& graph) {
    test::Evaluator eval(graph);
    eval.floats("x", test::noise(192, 1)).floats("w", test::noise(320, 2));
    eval.floats("b", test::noise(5, 3)).floats("r", test::noise(15, 4)).run();
    return eval.floats("y");
  };
  const std::vector<float> plain = y_of(g), lowered = y_of(low);
  // |x|, |w|, |b|, |r| <= 1: each of 64 products moves by at most the step of a block whose largest
  // value is 1; both results are within 66 and rounded to f32 once.
  const double bound = 64 * kQ8AFormat.max_error(1) + 66 * 0x1p-23;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CHECK(std::abs(static_cast<double>(plain[i]) - lowered[i]) <= bound);
  }
  CHECK(plain != lowered);
}

TEST_CASE("the cpu backend lowers with it") {
  const auto passes = cpu_backend().lowering();
  REQUIRE(passes.size() == 1);
  CHECK(passes[0].name == "quantize_activations");
  CHECK(reference_backend().lowering().empty());
}

}  // namespace
}  // namespace weft::cpu
