#include <algorithm>

#include "weft/base/error.h"

#include "checks/check_plan.h"
#include "machine/replay_job.h"
#include "plan/shares.h"

namespace weft::scheduler {
namespace {

using lanes::Cols;

// The parts of every lane add up to the lane's columns, and are whole granules.
void check_parts(const CheckedPlan& checked, const PlanStep& step, int shares) {
  const int lanes = checked.plan.lanes;
  if (std::ssize(step.parts) != lanes * shares)
    fail<ValueError>("'{}' has {} parts, not {} for each of {} lanes", step.path, step.parts.size(),
                     shares, lanes);
  const Graph& graph = checked.graph;
  const std::int64_t granule = lanes::col_granule(graph, graph[step.node]);
  const auto segments = lanes::col_segments(graph, graph[step.node]);
  const auto is_border = [&](std::int64_t c) {
    return c % granule == 0 || std::find(segments.begin(), segments.end(), c) != segments.end();
  };
  for (int lane = 0; lane < lanes; ++lane) {
    Cols all;
    std::int64_t width = 0;
    for (int k = 0; k < shares; ++k) {
      for (const ColRange& r : step.parts[static_cast<std::size_t>(lane * shares + k)]) {
        if (!is_border(r.begin) || !is_border(r.end))
          fail<ValueError>("'{}': columns {}-{} of a share are not whole granules of {}", step.path,
                           r.begin, r.end, granule);
        width += r.end - r.begin;
        all.push_back(r);
      }
    }
    all = lanes::normalized(std::move(all));
    if (all != lanes::normalized(step.cols[static_cast<std::size_t>(lane)]) ||
        width != lanes::width(all))
      fail<ValueError>("'{}': the shares of lane {} are not its columns", step.path, lane);
  }
}

}  // namespace

void check_shares(const CheckedPlan& checked) {
  const Plan& plan = checked.plan;
  if (std::ssize(plan.shares) != plan.stages)
    fail<ValueError>("plan '{}' has shares for {} of {} stages", plan.name, plan.shares.size(),
                     plan.stages);
  for (std::int32_t stage = 0; stage < plan.stages; ++stage) {
    const int shares = plan.shares_in(stage);
    if (shares < 1 || shares > kMaxShares)
      fail<ValueError>("stage {} has {} shares per lane", stage, shares);
    std::vector<NodeId> steps;
    lanes::Cuts cuts;
    for (const PlanStep& step : plan.steps) {
      if (step.stage != stage) continue;
      if (shares == 1 || step.split != Split::cols) {
        if (!step.parts.empty()) fail<ValueError>("'{}' has parts for no shares", step.path);
        cuts[step.node] = {step.split, {}, step.lane};
      } else {
        check_parts(checked, step, shares);
        cuts[step.node] = {step.split, step.parts, step.lane};
      }
      steps.push_back(step.node);
    }
    if (shares > 1 && !lanes::are_independent(checked.graph, steps, cuts, plan.lanes * shares))
      fail<ValueError>("the shares of stage {} ({} to {}) depend on each other", stage,
                       checked.graph[steps.front()].path, checked.graph[steps.back()].path);
  }
}

}  // namespace weft::scheduler
