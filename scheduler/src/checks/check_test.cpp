// check() finds plans that were broken on purpose.

#include <algorithm>

#include <doctest/doctest.h>

#include "weft/backends/memory.h"
#include "weft/base/error.h"
#include "weft/scheduler/passes.h"
#include "weft/scheduler/planner.h"

#include "support/region_backend.h"
#include "support/runs.h"
#include "support/toy_llama.h"

namespace weft {
namespace {

using namespace weft::test;

struct Broken {
  Graph graph =
      optimize(toy_llama({.D = 1024, .H = 8, .G = 4, .E = 128, .F = 2048}), RegionBackend());
  Plan plan = make_plan(graph, RegionBackend(), {.name = "broken", .lanes = 2});

  Broken() { check(plan, graph); }
  PlanStep& step(std::string_view path) {
    return *std::find_if(plan.steps.begin(), plan.steps.end(),
                         [&](const PlanStep& s) { return s.path == path; });
  }
  Placement& place(std::string_view path) { return plan.placements[graph.find(path)]; }
  std::string complaint() const {
    try {
      check(plan, graph);
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  }
  bool complains(std::string_view about) const {
    return complaint().find(about) != std::string::npos;
  }
};

TEST_CASE("check: a shifted offset") {
  Broken b;
  SUBCASE("onto another tensor") {
    b.place("blk.0.attention").offset = b.place("blk.0.attn_qkv").offset;
    CHECK(b.complains("share bytes of the arena"));
    CHECK(b.complains("'blk.0.attention'"));
    CHECK(b.complains("'blk.0.attn_qkv'"));
  }
  SUBCASE("of a graph input") {
    b.place("tokens").offset = b.place("blk.0.attention").offset;
    CHECK(b.complains("share bytes of the arena"));
    CHECK(b.complains("'tokens'"));
  }
  SUBCASE("off the alignment") {
    b.place("blk.0.attention").offset += 4;
    CHECK(b.complains("not aligned"));
  }
  SUBCASE("past the end") {
    b.place("blk.0.attention").offset = align_up(b.plan.arena_bytes);
    CHECK(b.complains("past the end"));
  }
}

TEST_CASE("check: any dropped join is reported with producer and reader") {
  const Broken whole;
  REQUIRE(whole.plan.stages > 4);
  for (int dropped = 1; dropped < whole.plan.stages; ++dropped) {
    Broken b;
    for (PlanStep& step : b.plan.steps) step.stage -= step.stage >= dropped;
    --b.plan.stages;
    CAPTURE(dropped);
    CHECK(b.complains("that another lane may not have made yet"));
  }
}

TEST_CASE("check: columns") {
  Broken b;
  auto& cols = b.step("blk.0.attention").cols;
  SUBCASE("a gap") {
    cols[1][0].begin += 128;
    CHECK(b.complains("has no owner"));
  }
  SUBCASE("two owners") {
    cols[0][0].end += 128;
    CHECK(b.complains("more than one owner"));
  }
  SUBCASE("half a head") {
    cols[0][0].end += 64;
    cols[1][0].begin += 64;
    CHECK(b.complains("not whole granules of 128"));
  }
  SUBCASE("cut elsewhere than its readers") {
    cols[0][0].end += 128;
    cols[1][0].begin += 128;
    CHECK(b.complains("another lane may not have made yet"));
  }
  SUBCASE("a cache cut elsewhere than its readers") {
    auto& cache = b.step("blk.0.cache_write_1").cols;
    cache[0][0].end += 64 * 128;
    cache[1][0].begin += 64 * 128;
    CHECK_FALSE(b.complaint().empty());
  }
}

TEST_CASE("check: shares") {
  Broken b;
  PlanStep& attention = b.step("blk.0.attention");
  const std::size_t stage = static_cast<std::size_t>(attention.stage);
  REQUIRE(b.plan.shares[stage] > 1);
  SUBCASE("a part cut elsewhere than its readers") {
    auto& parts = b.step("blk.0.attn_qkv").parts;
    parts[0][0].end += 128;
    parts[1][0].begin += 128;
    CHECK(b.complains("depend on each other"));
  }
  SUBCASE("half a head") {
    attention.parts[0].back().end += 64;
    attention.parts[1].front().begin += 64;
    CHECK(b.complains("not whole granules of 128"));
  }
  SUBCASE("a part that belongs to another lane") {
    std::swap(attention.parts.front(), attention.parts.back());
    CHECK(b.complains("are not its columns"));
  }
  SUBCASE("a missing part") {
    attention.parts.pop_back();
    CHECK(b.complains("parts"));
  }
  SUBCASE("another number of shares") {
    b.plan.shares[stage] = 1;
    CHECK(b.complains("parts for no shares"));
  }
  SUBCASE("no number of shares") {
    b.plan.shares.pop_back();
    CHECK(b.complains("shares for"));
  }
}

TEST_CASE("check: steps") {
  Broken b;
  SUBCASE("missing") {
    b.plan.steps.erase(b.plan.steps.begin() + 4);
    CHECK(b.complains("has no step"));
  }
  SUBCASE("twice") {
    b.plan.steps.push_back(b.plan.steps.back());
    CHECK(b.complains("has two steps"));
  }
  SUBCASE("in the wrong order") {
    std::reverse(b.plan.steps.begin(), b.plan.steps.end());
    CHECK_FALSE(b.complaint().empty());
  }
  SUBCASE("a reader before its maker in one lane") {
    std::iter_swap(&b.step("blk.0.attention"), &b.step("blk.0.attn_qkv"));
    CHECK(b.complains("may not have made yet"));
  }
  SUBCASE("a copied state writer") {
    b.step("blk.0.cache_write").split = Split::copies;
    CHECK(b.complains("cannot be copied"));
  }
  SUBCASE("a lane that is not there") {
    b.step("blk.0.attn_norm").split = Split::one;
    b.step("blk.0.attn_norm").lane = 2;
    CHECK(b.complains("lane 2 of 2"));
  }
}

TEST_CASE("check: attention that reads the cache before it is written") {
  Graph g;
  const Tensor x = g.input("x", {f32, {1, 2, 64}}), cells = g.input("cells", {i32, {1}});
  const Tensor state = g.state("s", {f32, {1, 2, 64, 64}});
  const Tensor after = cache_write(state, x, cells);
  g.output("y", attention(x, after, after, runs_inputs(g, 1, 64), {}));
  Plan plan = make_plan(g, RegionBackend(), {.lanes = 1});
  check(plan, g);
  std::swap(plan.steps[0], plan.steps[1]);
  CHECK_THROWS_AS(check(plan, g), ValueError);
}

TEST_CASE("check: in place over a value that is read later") {
  Graph g;
  const Tensor x = g.input("x", {f32, {2, 64}});
  const Tensor a = silu(x).named("a");
  const Tensor early = silu(a).named("early");
  g.output("y", (early + (a * early).named("late")).named("y"));
  Plan plan = make_plan(g, RegionBackend(), {.lanes = 1});
  check(plan, g);
  CHECK(plan.placements[g.find("early")].in_place_over == kNoNode);
  auto& early_place = plan.placements[g.find("early")];
  early_place.in_place_over = g.find("a");
  early_place.offset = plan.placements[g.find("a")].offset;
  CHECK_THROWS_WITH_AS(
      check(plan, g), "'early' overwrites 'a' in place while 'late' may still read it", ValueError);
}

TEST_CASE("check: in place over an input that the node also reads at other elements") {
  Graph plain;
  const Tensor a = silu(plain.input("x", {f32, {2, 64}})).named("a");
  plain.output("y", silu((a + linear(a, plain.weight("w", {f32, {64, 64}}))).named("b")));
  const Graph g = optimize(plain, RegionBackend());
  REQUIRE(g[g.find("b")].op->name == "linear");  // with a as x and as residual
  Plan plan = make_plan(g, RegionBackend(), {.lanes = 1});
  check(plan, g);
  auto& b_place = plan.placements[g.find("b")];
  CHECK(b_place.in_place_over == kNoNode);
  b_place.in_place_over = g.find("a");
  b_place.offset = plan.placements[g.find("a")].offset;
  CHECK_THROWS_WITH_AS(check(plan, g),
                       "'b' in place over 'a': it also reads it through another input", ValueError);
}

TEST_CASE("check: a plan of another graph") {
  const Broken b;
  CHECK_THROWS_AS(check(b.plan, toy_llama({})), ValueError);
}

}  // namespace
}  // namespace weft
