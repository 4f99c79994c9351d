#include "weft/scheduler/timeline.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/backends/memory.h"

#include "plan/sketch.h"

namespace weft {
namespace {

using namespace scheduler;

Work work_of(const Graph& graph, const PlanStep& step) {
  Work work{.works = true, .kernel = {}, .cost = step.cost};
  estimate(graph, graph[step.node], work);
  work.share = {step.split, step.cols, step.lane};
  work.stage = step.stage;
  return work;
}

}  // namespace

Timeline estimate_timeline(const Graph& graph, const Plan& plan) {
  const auto n_lanes = static_cast<std::size_t>(plan.lanes);
  Timeline timeline;
  timeline.busy_ns.resize(n_lanes);
  std::vector<double> now(n_lanes);
  const auto join = [&] {
    timeline.ns = *std::max_element(now.begin(), now.end());
    timeline.joins_ns.push_back(timeline.ns);
    std::fill(now.begin(), now.end(), timeline.ns + kJoinNs);
  };
  std::int32_t stage = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    for (; stage < step.stage; ++stage)
      if (plan.lanes > 1) join();
    const Work work = work_of(graph, step);
    for (int lane = 0; lane < plan.lanes; ++lane) {
      const double part = part_of_lane(graph[step.node], work, plan.lanes, lane);
      if (part <= 0) continue;
      const auto at = static_cast<std::size_t>(lane);
      const double ns = part * work.ns + kCallNs;
      timeline.work.push_back({i, lane, now[at], now[at] + ns});
      timeline.busy_ns[at] += ns;
      now[at] += ns;
    }
  }
  if (plan.lanes > 1 && !plan.steps.empty()) join();
  timeline.ns = *std::max_element(now.begin(), now.end());
  std::stable_sort(timeline.work.begin(), timeline.work.end(),
                   [&](const LaneWork& a, const LaneWork& b) {
                     return std::pair(plan.steps[a.step].stage, a.lane) <
                            std::pair(plan.steps[b.step].stage, b.lane);
                   });
  return timeline;
}

std::vector<double> longest_by_step(const Plan& plan, const Timeline& timeline) {
  std::vector<double> longest(plan.steps.size());
  for (const LaneWork& work : timeline.work)
    longest[work.step] = std::max(longest[work.step], work.end_ns - work.begin_ns);
  return longest;
}

double critical_path_ns(const Graph& graph, const Plan& plan, std::span<const double> step_ns) {
  const auto step_of = plan.steps_by_node();
  // The earliest time when each node is done; ids are in topological order. A reader of a state
  // that was written has the writer as its input.
  PerNode<double> done(graph);
  double longest = 0;
  for (NodeId id = 0; id < graph.size(); ++id) {
    double& end = done[id];
    for (const NodeId in : graph[id].inputs) {
      if (in != kNoNode) end = std::max(end, done[in]);
    }
    if (step_of[id]) end += step_ns[static_cast<std::size_t>(step_of[id] - plan.steps.data())];
    longest = std::max(longest, end);
  }
  return longest;
}

std::vector<std::int64_t> live_bytes_by_stage(const Plan& plan) {
  // A chain of in-place nodes is one tensor, live from the first to the last of them.
  PerNode<Placement> merged = plan.placements;
  PerNode<NodeId> owner = PerNode<NodeId>::like(plan.placements);
  for (NodeId id = 0; id < merged.size(); ++id) {
    const Placement& p = plan.placements[id];
    owner[id] = p.in_place_over == kNoNode ? id : owner[p.in_place_over];
    Placement& whole = merged[owner[id]];
    whole.first_stage = std::min(whole.first_stage, p.first_stage);
    whole.last_stage = std::max(whole.last_stage, p.last_stage);
  }
  std::vector<std::int64_t> live(static_cast<std::size_t>(plan.stages));
  for (NodeId id = 0; id < merged.size(); ++id) {
    const Placement& p = merged[id];
    if (p.place != Place::arena || is_device(p.memory) || owner[id] != id) continue;
    for (std::int32_t s = p.first_stage; s <= p.last_stage; ++s)
      live[static_cast<std::size_t>(s)] += p.copies * align_up(p.bytes);
  }
  return live;
}

PlanBounds estimate_bounds(const Graph& graph, const Plan& plan) {
  const Timeline timeline = estimate_timeline(graph, plan);
  PlanBounds bounds{.critical_ns = critical_path_ns(graph, plan, longest_by_step(plan, timeline)),
                    .ns = timeline.ns};
  for (const double busy : timeline.busy_ns) bounds.lane_ns += busy / plan.lanes;
  return bounds;
}

PeakStage peak_stage(const Plan& plan) {
  const std::vector<std::int64_t> live = live_bytes_by_stage(plan);
  if (live.empty()) return {};
  const auto peak = std::max_element(live.begin(), live.end());
  return {static_cast<std::int32_t>(peak - live.begin()), *peak};
}

}  // namespace weft
