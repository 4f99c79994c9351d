#include "weft/scheduler/planner.h"

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/attention/attention.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/projections/expert_linear.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/projections/quantize.h"
#include "weft/ops/rows/views.h"
#include "weft/scheduler/passes.h"

#include "support/region_backend.h"
#include "support/runs.h"
#include "support/toy_llama.h"

namespace weft {
namespace {

using namespace weft::test;

const RegionBackend kRegions;
const ToyDims kReal{
    .T = 1, .S = 4096, .D = 2048, .H = 32, .G = 4, .E = 64, .F = 5632, .V = 32000, .L = 4};

TEST_CASE("one lane needs no joins") {
  const Graph graph = toy_llama(kReal);
  const Plan plan = make_plan(graph, kRegions, {.name = "decode", .lanes = 1});
  CHECK(plan.joins() == 0);
  check(plan, graph);
}

TEST_CASE("decode with two lanes: four joins per layer") {
  const Graph plain = toy_llama(kReal);
  const Graph fused = optimize(plain, kRegions);
  for (const Graph* graph : {&plain, &fused}) {
    const Plan plan = make_plan(*graph, kRegions, {.name = "decode", .lanes = 2});
    INFO(plan.to_text());
    check(plan, *graph);
    CHECK(plan.joins() == 4 * kReal.L);
  }
}

TEST_CASE("with one key head, attention waits for its cache: one more join per layer") {
  ToyDims dims = kReal;
  dims.G = 1;
  const Graph graph = optimize(toy_llama(dims), kRegions);
  const Plan plan = make_plan(graph, kRegions, {.lanes = 2});
  check(plan, graph);
  CHECK(plan.joins() == 5 * dims.L);
}

const PlanStep& step_of(const Plan& plan, std::string_view path) {
  for (const PlanStep& step : plan.steps) {
    if (step.path == path) return step;
  }
  FAIL("no step ", std::string(path));
  return plan.steps.front();
}

TEST_CASE("a lane keeps its heads from the projections through attention") {
  const Graph graph = optimize(toy_llama(kReal), kRegions);
  const Plan plan = make_plan(graph, kRegions, {.lanes = 2});
  const PlanStep& qkv = step_of(plan, "blk.0.attn_qkv");
  using Cols = std::vector<std::vector<ColRange>>;
  CHECK(qkv.cols ==
        Cols{{{0, 1024}, {2048, 2176}, {2304, 2432}}, {{1024, 2048}, {2176, 2304}, {2432, 2560}}});
  CHECK(step_of(plan, "blk.0.attention").cols == Cols{{{0, 1024}}, {{1024, 2048}}});
  CHECK(step_of(plan, "blk.0.attention").stage == qkv.stage);
  CHECK(step_of(plan, "blk.0.attn_norm").split == Split::copies);
  CHECK(step_of(plan, "blk.0.attn_norm").stage == qkv.stage);
}

TEST_CASE("every lane gets a part of each chosen expert, and keeps it in elementwise ops") {
  using Cols = std::vector<std::vector<ColRange>>;
  for (const std::int64_t n_tokens : {1, 64}) {
    CAPTURE(n_tokens);
    Graph graph;
    const Dim t = graph.variable("T", n_tokens);
    const Tensor x = graph.input("x", {f32, {t, 512}}), ids = graph.input("ids", {i32, {t, 3}});
    const Tensor gate = expert_linear(x, graph.weight("gate.weight", {f32, {8, 1024, 512}}), ids);
    const Tensor up = expert_linear(x, graph.weight("up.weight", {f32, {8, 1024, 512}}), ids);
    const Tensor y = quantize(mul(silu(gate).named("act"), up).named("mul")).named("q8a");
    const Tensor w = graph.weight("down.weight", {q8_0, {8, 256, 1024}});
    graph.output("y", expert_linear(y, w, ids));
    const Plan plan = make_plan(graph, kRegions, {.lanes = 2});
    INFO(plan.to_text());
    check(plan, graph);
    const Cols halves{{{0, 512}, {1024, 1536}, {2048, 2560}},
                      {{512, 1024}, {1536, 2048}, {2560, 3072}}};
    for (const char* path : {"gate", "up", "act", "mul", "q8a"}) {
      CAPTURE(path);
      CHECK(step_of(plan, path).cols == halves);
      CHECK(step_of(plan, path).stage == step_of(plan, "gate").stage);
    }
    CHECK(step_of(plan, "down").cols ==
          Cols{{{0, 128}, {256, 384}, {512, 640}}, {{128, 256}, {384, 512}, {640, 768}}});
  }
}

TEST_CASE("wide plans cut norms by rows and projections by columns") {
  ToyDims dims = kReal;
  dims.T = 64;
  const Graph graph = optimize(toy_llama(dims), kRegions);
  const Plan plan = make_plan(graph, kRegions, {.lanes = 2});
  check(plan, graph);
  CHECK(step_of(plan, "blk.1.ffn_norm").split == Split::rows);
  CHECK(step_of(plan, "blk.1.attn_qkv").split == Split::cols);
  CHECK(step_of(plan, "blk.1.cache_write").split == Split::cols);
  CHECK(plan.joins() <= 6 * dims.L + 1);
}

TEST_CASE("kernels that do not split run in one lane") {
  const Graph graph = toy_llama({});
  const Plan plan = make_plan(graph, reference_backend(), {.lanes = 3});
  check(plan, graph);
  for (const PlanStep& step : plan.steps) CHECK(step.split == Split::one);
}

TEST_CASE("the arena reaches its lower bound on a Llama, and reuse can be disabled") {
  const Graph graph = optimize(toy_llama(kReal), kRegions);
  for (const int lanes : {1, 2}) {
    const Plan plan = make_plan(graph, kRegions, {.lanes = lanes});
    CHECK(plan.arena_bytes == plan.arena_lower_bound);
    const Plan apart = make_plan(graph, kRegions, {.lanes = lanes, .separate_tensors = true});
    check(apart, graph);
    CHECK(apart.arena_bytes > plan.arena_bytes);
    for (const Placement& p : apart.placements) CHECK(p.in_place_over == kNoNode);
  }
}

TEST_CASE("heads that are not whole blocks: every lane quantizes all of them to save a join") {
  Graph g;
  const Tensor q = g.input("q", {f32, {1, 6, 48}});
  const Tensor k = g.state("k", {f16, {1, 6, 64, 48}}), v = g.state("v", {f16, {1, 6, 64, 48}});
  const Tensor y = merge_heads(attention(q, k, v, runs_inputs(g, 1, 64), {}));
  g.output("y", linear(quantize(y), g.weight("w", {q8_0, {288, 288}})));
  const Plan plan = make_plan(g, kRegions, {.lanes = 2});
  INFO(plan.to_text());
  check(plan, g);
  CHECK(plan.joins() == 1);
}

TEST_CASE("much work is cut into shares, little is not") {
  const Graph graph = optimize(toy_llama(kReal), kRegions);
  const Plan plan = make_plan(graph, kRegions, {.lanes = 2});
  INFO(plan.to_text());
  check(plan, graph);
  for (const char* path : {"blk.0.attn_qkv", "blk.0.attn_output", "logits"}) {
    CAPTURE(path);
    if (graph.find(path) != kNoNode) CHECK(plan.shares_in(step_of(plan, path).stage) > 1);
  }
  // Two groups of heads per lane, which stay together from the projections through attention.
  const PlanStep& attention = step_of(plan, "blk.0.attention");
  CHECK(plan.shares_in(attention.stage) == 2);
  CHECK(attention.parts == std::vector<std::vector<ColRange>>{
                               {{0, 512}}, {{512, 1024}}, {{1024, 1536}}, {{1536, 2048}}});
  const Graph small = toy_llama({});
  for (const std::int32_t n : make_plan(small, kRegions, {.lanes = 2}).shares) CHECK(n == 1);
}

TEST_CASE("one lane instead of two, if the work does not justify a join and the caller allows it") {
  const Graph small = toy_llama({.D = 16, .H = 2, .G = 1, .E = 8, .F = 16, .V = 10});
  const Graph real = toy_llama(kReal);
  CHECK(make_plan(small, kRegions, {.lanes = 2}).lanes == 2);
  CHECK(make_plan(small, kRegions, {.lanes = 2, .allow_one_lane = true}).lanes == 1);
  CHECK(make_plan(real, kRegions, {.lanes = 2, .allow_one_lane = true}).lanes == 2);
}

TEST_CASE("plans are rejected with reasons") {
  const Graph graph = toy_llama({});
  CHECK_THROWS_WITH_AS(make_plan(graph, kRegions, {.lanes = 0}), "a plan has 1 to 256 lanes, not 0",
                       ValueError);
  struct Nothing : RegionBackend {
    std::string_view name() const override { return "nothing"; }
    std::optional<Kernel> find(const Graph&, const Node&) const override { return std::nullopt; }
  } nothing;
  try {
    make_plan(graph, nothing, {});
    FAIL("made a plan");
  } catch (const UnsupportedError& e) {
    const std::string text = e.what();
    CHECK(text == "rope_angles 'rope_angles': backend nothing has no kernel for I32 [?<=1]");
  }
}

TEST_CASE("a plan is a value") {
  const Graph graph = toy_llama({});
  const Plan a = make_plan(graph, kRegions, {.name = "a"}),
             b = make_plan(graph, kRegions, {.name = "a"});
  CHECK(a == b);
  CHECK(a.hash() == b.hash());
  CHECK(a.to_json() == b.to_json());
  Plan c = b;
  c.steps[3].stage += 1;
  CHECK_FALSE(a == c);
  CHECK(a.hash() != c.hash());
  const std::string text = a.to_text();
  CHECK(text.starts_with("plan a: T<=1 O<=1, 2 lanes"));
  CHECK(text.find("blk.1.attn_output") != std::string::npos);
}

}  // namespace
}  // namespace weft
