#pragma once
// The parts of check(plan, graph). They start from the graph and the finished plan alone: nothing
// that the planner noted on the way is used, so that a wrong choice cannot vouch for itself.

#include <vector>

#include "weft/graph/graph.h"
#include "weft/graph/per_node.h"
#include "weft/scheduler/plan.h"

#include "lanes.h"

namespace weft::scheduler {

struct CheckedPlan {
  const Plan& plan;
  const Graph& graph;
  PerNode<const PlanStep*> step_of;      // null for nodes without a step
  PerNode<std::vector<NodeId>> readers;  // through views: nodes with a step that read its memory

  const PlanStep& step(NodeId id) const { return *step_of[id]; }
  bool has_step(NodeId id) const { return step_of[id] != nullptr; }
  lanes::Share share(NodeId id) const { return {step(id).split, step(id).cols, step(id).lane}; }
  // a is done before b begins, when lane i does a and lane j does b.
  bool ordered(NodeId a, int i, NodeId b, int j) const;
};

// Every node that does work has one step; stages, lanes and columns are within bounds; every output
// element has one owner (or one per copy).
CheckedPlan check_structure(const Plan& plan, const Graph& graph);
// Every lane reads only what it made itself or what was complete at the last join; states are
// touched in program order.
void check_lanes(const CheckedPlan& checked);
// Shares of a stage cut each lane's columns and do not depend on each other.
void check_shares(const CheckedPlan& checked);
// Placements fit the graph; what is alive in one stage shares no bytes, in-place pairs apart, which
// agree lane by lane.
void check_memory(const CheckedPlan& checked);

}  // namespace weft::scheduler
