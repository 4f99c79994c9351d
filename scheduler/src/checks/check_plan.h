#pragma once
// The parts of check(plan, graph). They use only the graph and the finished plan, and nothing that
// the planner computed on the way, so that its mistakes are found.

#include <vector>

#include "weft/graph/graph.h"
#include "weft/graph/per_node.h"
#include "weft/scheduler/plan.h"

#include "plan/lanes.h"

namespace weft::scheduler {

struct CheckedPlan {
  const Plan& plan;
  const Graph& graph;
  PerNode<const PlanStep*> step_of;      // null for nodes without a step
  PerNode<std::vector<NodeId>> readers;  // through views: nodes with a step that read its memory

  const PlanStep& step(NodeId id) const { return *step_of[id]; }
  bool has_step(NodeId id) const { return step_of[id] != nullptr; }
  lanes::Share share(NodeId id) const { return {step(id).split, step(id).cols, step(id).lane}; }
  // Whether lane i finishes a before lane j begins b.
  bool ordered(NodeId a, int i, NodeId b, int j) const;
};

// Every node that does work has one step; stages, lanes and columns are within bounds; every output
// element has one owner (or one per copy).
CheckedPlan check_structure(const Plan& plan, const Graph& graph);
// Every lane reads only what it computed itself or what was complete at the last join; states are
// accessed in program order.
void check_lanes(const CheckedPlan& checked);
// The shares of a stage partition each lane's columns and do not depend on each other.
void check_shares(const CheckedPlan& checked);
// Placements fit the graph; tensors that are live in one stage share no bytes, except for in-place
// pairs, which agree lane by lane.
void check_memory(const CheckedPlan& checked);

}  // namespace weft::scheduler
