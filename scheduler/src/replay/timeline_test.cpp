#include "weft/scheduler/timeline.h"

#include <algorithm>
#include <numeric>

#include <doctest/doctest.h>

#include "weft/scheduler/passes.h"
#include "weft/scheduler/planner.h"

#include "support/region_backend.h"
#include "support/toy_llama.h"

namespace weft {
namespace {

using namespace weft::test;

const ToyDims kDims{.D = 1024, .H = 8, .G = 4, .E = 128, .F = 2048};

TEST_CASE("a timeline is as long as the planner predicted, and lanes work without overlap") {
  const Graph graph = optimize(toy_llama(kDims), RegionBackend());
  for (const int lanes : {1, 2, 3}) {
    const Plan plan = make_plan(graph, RegionBackend(), {.name = "toy", .lanes = lanes});
    const Timeline timeline = estimate_timeline(graph, plan);
    CHECK(timeline.ns == doctest::Approx(static_cast<double>(plan.predicted_ns)).epsilon(1e-4));
    CHECK(std::ssize(timeline.joins_ns) == plan.joins() + (lanes > 1));
    std::vector<double> free(static_cast<std::size_t>(lanes));
    for (const LaneWork& work : timeline.work) {
      const auto lane = static_cast<std::size_t>(work.lane);
      CHECK(work.begin_ns >= free[lane]);
      CHECK(work.end_ns > work.begin_ns);
      free[lane] = work.end_ns;
    }
    const double busy = std::accumulate(timeline.busy_ns.begin(), timeline.busy_ns.end(), 0.0);
    CHECK(busy <= timeline.ns * lanes);
    const double critical = critical_path_ns(graph, plan, longest_by_step(plan, timeline));
    CHECK(critical > 0);
    CHECK(critical <= timeline.ns);
    const PlanBounds bounds = estimate_bounds(graph, plan);
    CHECK(bounds.critical_ns == critical);
    CHECK(bounds.lane_ns == doctest::Approx(busy / lanes));
    CHECK(bounds.ns == timeline.ns);
  }
}

TEST_CASE("the critical path is the longest chain, not the sum") {
  Graph g;
  const Tensor x = g.input("x", {f32, {2, 64}});
  const Tensor a = silu(x).named("a"), b = silu(x).named("b");
  g.output("y", (a + b).named("y"));
  const Plan plan = make_plan(g, RegionBackend(), {.lanes = 1});
  REQUIRE(plan.steps.size() == 3);
  std::vector<double> ns(3);
  for (std::size_t i = 0; i < 3; ++i)
    ns[i] = plan.steps[i].path == "a" ? 5 : plan.steps[i].path == "b" ? 7 : 1;
  CHECK(critical_path_ns(g, plan, ns) == 8);
}

TEST_CASE("the peak equals the planner's lower bound") {
  for (const int lanes : {1, 2}) {
    const Graph graph = optimize(toy_llama(kDims), RegionBackend());
    const Plan plan = make_plan(graph, RegionBackend(), {.lanes = lanes});
    CHECK(peak_stage(plan).bytes == plan.arena_lower_bound);
  }
}

}  // namespace
}  // namespace weft
