#include "weft/scheduler/pieces.h"

#include <algorithm>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "weft/scheduler/passes.h"
#include "weft/scheduler/planner.h"

#include "support/region_backend.h"
#include "support/toy_llama.h"

namespace weft {
namespace {

using namespace weft::test;

const RegionBackend kPieceBackend;

Plan plan_of(const ToyDims& dims, double share_ns) {
  const Graph graph = optimize(toy_llama(dims), kPieceBackend);
  return make_plan(graph, kPieceBackend, {.name = "toy", .lanes = 2, .share_ns = share_ns});
}

TEST_CASE("pieces hold every step of a plan, as often as lanes and shares take part in it") {
  for (const double share_ns : {1e9, 0.0}) {
    const Plan plan = plan_of({.T = 5, .D = 128, .H = 8, .G = 4, .F = 256}, share_ns);
    CHECK((std::ranges::max(plan.shares) > 1) == (share_ns == 0));
    std::map<std::size_t, int> times;
    std::int32_t stage = 0;
    for (const PieceGroup& group : pieces_of(plan)) {
      REQUIRE(!group.empty());
      std::set<std::string> names;
      for (const Piece& piece : group) {
        CHECK(names.insert(piece.name()).second);
        CHECK(piece.stage >= stage);
        stage = piece.stage;
        CHECK(!piece.steps.empty());
        for (const std::size_t step : piece.steps) {
          CHECK(plan.steps[step].stage == piece.stage);
          if (plan.shares_in(piece.stage) > 1)
            CHECK((plan.steps[step].split == Split::copies) == piece.copies);
          ++times[step];
        }
      }
    }
    for (std::size_t i = 0; i < plan.steps.size(); ++i) {
      CAPTURE(plan.steps[i].path);
      const PlanStep& step = plan.steps[i];
      const auto& cols = step.parts.empty() ? step.cols : step.parts;
      const auto busy = std::ranges::count_if(cols, [](const auto& c) { return !c.empty(); });
      const int rows = plan.lanes * plan.shares_in(step.stage);
      CHECK(times[i] == (step.split == Split::one      ? 1
                         : step.split == Split::copies ? plan.lanes
                         : step.split == Split::rows   ? rows
                                                       : static_cast<int>(busy)));
    }
  }
}

TEST_CASE("copies come before the shares that read them, and pieces without steps are left out") {
  Plan plan{.lanes = 2, .stages = 2, .shares = {2, 1}};
  plan.steps = {{.path = "norm", .split = Split::copies},
                {.path = "x",
                 .split = Split::cols,
                 .cols = {{{0, 4}}, {}},
                 .parts = {{{0, 2}}, {{2, 4}}, {}, {}}},
                {.path = "y", .split = Split::one, .lane = 1, .stage = 1}};
  const std::vector<PieceGroup> groups = pieces_of(plan);
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].size() == 2);
  CHECK(groups[0][1].name() == "stage 0 lane 1 copies");
  CHECK(groups[1].size() == 2);
  CHECK(groups[1][1].name() == "stage 0 lane 0 share 1");
  CHECK(groups[2] == PieceGroup{{.stage = 1, .lane = 1, .steps = {2}}});
}

}  // namespace
}  // namespace weft
