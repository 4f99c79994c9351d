#include <algorithm>
#include <set>

#include "weft/base/error.h"
#include "weft/scheduler/planner.h"
#include "weft/scheduler/workers.h"

#include "checks/check_plan.h"

namespace weft::scheduler {
namespace {

void check_cols(const Graph& graph, const PlanStep& step, int lanes) {
  const Node& node = graph[step.node];
  if (std::ssize(step.cols) != lanes)
    fail<ValueError>("'{}' has columns for {} of {} lanes", step.path, step.cols.size(), lanes);
  const std::int64_t granule = lanes::col_granule(graph, node);
  const auto segments = lanes::col_segments(graph, node);
  const auto is_border = [&](std::int64_t c) {
    return c % granule == 0 || std::find(segments.begin(), segments.end(), c) != segments.end();
  };
  std::vector<ColRange> all;
  for (const auto& cols : step.cols) {
    for (const ColRange& r : cols) {
      if (r.begin >= r.end) fail<ValueError>("'{}' has an empty range of columns", step.path);
      if (!is_border(r.begin) || !is_border(r.end)) {
        fail<ValueError>("'{}': columns {}-{} are not whole granules of {}", step.path, r.begin,
                         r.end, granule);
      }
      all.push_back(r);
    }
  }
  std::sort(all.begin(), all.end(),
            [](const ColRange& a, const ColRange& b) { return a.begin < b.begin; });
  std::int64_t end = 0;
  for (const ColRange& r : all) {
    if (r.begin != end)
      fail<ValueError>("'{}': column {} has {} owner", step.path, std::min(end, r.begin),
                       r.begin > end ? "no" : "more than one");
    end = r.end;
  }
  if (end != node.spec.shape.cols())
    fail<ValueError>("'{}': columns end at {}, not at {}", step.path, end, node.spec.shape.cols());
}

void check_step(const Plan& plan, const Graph& graph, const PlanStep& step) {
  if (step.node < 0 || step.node >= graph.size() || !lanes::does_work(graph[step.node])) {
    fail<ValueError>("step '{}' names no node that does work", step.path);
  }
  const Node& node = graph[step.node];
  if (step.path != node.path || step.op != node.op->name) {
    fail<ValueError>("step '{}' ({}) is '{}' ({}) in the graph", step.path, step.op, node.path,
                     node.op->name);
  }
  if (step.stage < 0 || step.stage >= plan.stages)
    fail<ValueError>("'{}' is in stage {} of {}", step.path, step.stage, plan.stages);
  const bool state = node.op->writes_state();
  switch (step.split) {
    case Split::one:
      if (step.lane < 0 || step.lane >= plan.lanes)
        fail<ValueError>("'{}' is in lane {} of {}", step.path, step.lane, plan.lanes);
      break;
    case Split::copies:
      if (state) fail<ValueError>("'{}' writes a state and cannot be copied", step.path);
      break;
    case Split::rows:
      if (state || !node.op->splits_rows)
        fail<ValueError>("'{}' cannot be split by rows", step.path);
      break;
    case Split::cols:
      check_cols(graph, step, plan.lanes);
      break;
  }
}

bool same_variables(const Plan& plan, const Graph& graph) {
  const auto same = [](const Variable& a, const Variable& b) {
    return a.name == b.name && a.bound == b.bound;
  };
  return std::equal(plan.variables.begin(), plan.variables.end(), graph.variables().begin(),
                    graph.variables().end(), same);
}

}  // namespace

bool CheckedPlan::ordered(NodeId a, int i, NodeId b, int j) const {
  if (step(a).stage != step(b).stage) return step(a).stage < step(b).stage;
  return i == j && step_of[a] < step_of[b];
}

CheckedPlan check_structure(const Plan& plan, const Graph& graph) {
  if (plan.lanes < 1 || plan.lanes > kMaxWorkers)
    fail<ValueError>("a plan has 1 to {} lanes, not {}", kMaxWorkers, plan.lanes);
  if (plan.placements.size() != graph.size() || !same_variables(plan, graph))
    fail<ValueError>("the plan belongs to another graph");
  CheckedPlan checked{plan, graph, PerNode<const PlanStep*>(graph),
                      PerNode<std::vector<NodeId>>(graph)};
  std::int32_t stage = 0;
  for (const PlanStep& step : plan.steps) {
    check_step(plan, graph, step);
    if (step.stage < stage)
      fail<ValueError>("'{}' of stage {} comes after stage {}", step.path, step.stage, stage);
    stage = step.stage;
    if (checked.has_step(step.node)) fail<ValueError>("'{}' has two steps", step.path);
    checked.step_of[step.node] = &step;
  }
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!lanes::does_work(graph[id])) continue;
    if (!checked.has_step(id)) fail<ValueError>("'{}' has no step", graph[id].path);
    std::set<NodeId> read;
    for (const NodeId input : graph[id].inputs) {
      if (input != kNoNode) read.insert(lanes::source_of(graph, input).node);
    }
    for (const NodeId source : read) checked.readers[source].push_back(id);
  }
  return checked;
}

}  // namespace weft::scheduler

namespace weft {

void check(const Plan& plan, const Graph& graph) {
  using namespace scheduler;
  const CheckedPlan checked = check_structure(plan, graph);
  check_lanes(checked);
  check_memory(checked);
  check_shares(checked);
}

}  // namespace weft
