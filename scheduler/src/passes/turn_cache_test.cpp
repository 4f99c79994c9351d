#include <algorithm>
#include <cmath>

#include <doctest/doctest.h>

#include "weft/ops/attention/cache_write.h"
#include "weft/ops/attention/choose_positions.h"
#include "weft/ops/attention/chosen_attention.h"
#include "weft/ops/attention/joined_attention.h"
#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/rows/hadamard.h"
#include "weft/scheduler/passes.h"

#include "passes/matching.h"
#include "support/eval.h"
#include "support/runs.h"

namespace weft {
namespace {

using namespace weft::test;
using scheduler::kTurnCache;

constexpr std::int64_t kT = 6, kHeads = 4, kE = 32, kCells = 70;
constexpr float kScale = 0.25f;

// Six tokens whose keys and values are written to caches, which hold some others.
struct Cached {
  Graph g;
  Tensor q = g.input("q", {f32, {kT, kHeads, kE}});
  Tensor cells = g.input("cells", {i32, {kT}});
  AttentionRuns runs = runs_inputs(g, kT, kCells);

  Tensor cache(const char* name, DType type, std::int64_t groups = 2) {
    const std::string x = std::string(name) + "_new";
    return cache_write(g.state(name, {type, cache_shape(kCells, groups, kE)}),
                       g.input(x, {f32, {kT, groups, kE}}), cells)
        .named(std::string(name) + "_written");
  }
};

// What is in the caches before the step was kept by earlier ones: turned if caches are.
void fill(Evaluator& eval, const Graph& graph, bool turned) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.op || node.spec.dtype == i32) continue;
    const auto n = static_cast<std::size_t>(node.spec.shape.elems());
    const auto seed = static_cast<std::uint32_t>(std::hash<std::string>{}(node.path));
    std::vector<float> values = noise(n, seed);
    if (turned && node.kind == NodeKind::state) {
      Graph g;
      g.output("y", hadamard(g.input("x", {f32, {1, static_cast<std::int64_t>(n) / kE, kE}})));
      values = Evaluator(g).floats("x", values).run().floats("y");
    }
    eval.floats(node.path, values);
  }
  eval.ints("cells", {64, 65, 66, 67, 68, 69});
  set_runs(eval, std::vector<std::int32_t>{0, 0, 3, 60, 0, 0}, {64, 65, 66, 67, 68, 69}).run();
}

std::vector<float> result(const Graph& graph, bool turned) {
  Evaluator eval(graph);
  fill(eval, graph, turned);
  return eval.floats("y");
}

bool every_type(DType) {
  return true;
}

// Elements are below 1, so heads are at most the root of E long; a turn has log2(E) + 2 roundings
// of that. Scores are off by the products of such errors with heads, and so are, by their slope,
// the weights; sums of values are turned once more, and both graphs round what they compute.
double tolerance() {
  const double length = std::sqrt(static_cast<double>(kE)), ulp = std::ldexp(1.0, -24);
  const double turn = (std::log2(static_cast<double>(kE)) + 2) * ulp * length;
  const double scores = kScale * 2 * turn * length * length;
  return std::expm1(2 * scores) * length + 2 * turn * length + 2 * (kE + 2 * kCells) * ulp;
}

void check_turned(const Graph& plain, std::int64_t n_turns) {
  const Graph turned = scheduler::turn_caches(plain, every_type);
  check(turned);
  std::int64_t n = 0;
  for (NodeId id = 0; id < turned.size(); ++id) n += turned[id].op == &kHadamard;
  CHECK(n == n_turns);
  const auto want = result(plain, false), got = result(turned, true);
  REQUIRE(got.size() == want.size());
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, std::fabs(double{got[i]} - want[i]));
  CHECK(worst <= tolerance());
  CHECK(result(turned, false) != want);  // the cells were read as turned ones
  const Graph again = scheduler::turn_caches(turned, every_type);
  REQUIRE(again.size() == turned.size());
  for (NodeId id = 0; id < again.size(); ++id) CHECK(again[id].path == turned[id].path);
  CHECK(turned[turned.outputs()[0].node].path == plain[plain.outputs()[0].node].path);
}

TEST_CASE("turn_cache: attention, with and without a bias") {
  for (const bool biased : {false, true}) {
    Cached c;
    AttentionBias bias;
    if (biased) bias = {.softcap = 5, .alibi = 4, .sinks = c.g.weight("sinks", {f32, {kHeads}})};
    const Tensor k = c.cache("k", f32), v = c.cache("v", f32);
    c.g.output("y", attention(c.q, k, v, c.runs, {kScale}, bias));
    check_turned(c.g, 4);
  }
}

TEST_CASE("turn_cache: vectors that are both key and value are turned once") {
  Cached c;
  const Tensor both = c.cache("k", f32, 1);
  SUBCASE("one run") {
    c.g.output("y", attention(c.q, both, both, c.runs, {kScale}));
    check_turned(c.g, 3);
  }
  SUBCASE("two runs") {
    const Tensor more = c.cache("more", f32, 1);
    c.g.output("y", joined_attention(c.q, {both, c.runs, {}}, {more, c.runs, {}}, {kScale, 70}));
    check_turned(c.g, 4);
  }
}

TEST_CASE("turn_cache: positions are chosen by turned keys, and attended to") {
  Cached c;
  const Tensor k = c.cache("k", f32), v = c.cache("v", f32), index = c.cache("index", f32, 1);
  const Tensor chosen = choose_positions(c.q, index, c.runs, {.k = 9});
  c.g.output("y", chosen_attention(c.q, k, v, c.runs, chosen, {.scale = kScale}));
  check_turned(c.g, 5);
}

TEST_CASE("turn_cache: only caches in blocks, each on its own") {
  const auto n_turns = [](DType k, DType v) {
    Cached c;
    const Tensor keys = c.cache("k", k), values = c.cache("v", v);
    c.g.output("y", attention(c.q, keys, values, c.runs, {kScale}));
    const Graph turned = kTurnCache.apply(c.g);
    std::int64_t n = 0;
    for (NodeId id = 0; id < turned.size(); ++id) n += turned[id].op == &kHadamard;
    return n;
  };
  CHECK(n_turns(f16, f32) == 0);
  CHECK(n_turns(q8_0, f16) == 2);
  CHECK(n_turns(f16, q4_0) == 2);
  CHECK(n_turns(q4_0, q4_0) == 4);
}

TEST_CASE("turn_cache: none are turned if something else sees the cells") {
  Cached c;
  const Tensor k = c.cache("k", q8_0), v = c.cache("v", q8_0);
  c.g.output("y", attention(c.q, k, v, c.runs, {kScale}));
  c.g.output("cells", k);
  CHECK(kTurnCache.apply(c.g).find("k_new.turned") == kNoNode);
}

}  // namespace
}  // namespace weft
