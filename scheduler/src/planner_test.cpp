#include "weft/scheduler/planner.h"

#include <doctest/doctest.h>

#include "weft/graph/error.h"
#include "weft/scheduler/passes.h"

#include "support/region_backend.h"
#include "support/toy_llama.h"

namespace weft {
namespace {

using namespace weft::test;

const RegionBackend kRegions;
const ToyDims kReal{
    .T = 1, .S = 4096, .D = 2048, .H = 32, .G = 4, .E = 64, .F = 5632, .V = 32000, .L = 4};

TEST_CASE("one lane never meets anyone") {
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

}  // namespace
}  // namespace weft
