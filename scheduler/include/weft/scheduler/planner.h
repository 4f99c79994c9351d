#pragma once
// Graph -> plan: order, kernels, lanes and joins, arena.

#include <optional>
#include <string>

#include "weft/graph/graph.h"
#include "weft/scheduler/plan.h"
#include "weft/scheduler/routing.h"

namespace weft {

struct PlanOptions {
  std::string name;  // of the plan
  int lanes = 2;
  bool may_take_one_lane = false;  // instead, where that is likely faster: the work is too small to
                                   // be worth a meeting
  // How long a share of a lane takes at least, roughly, so that it is worth a claim of its own. 0
  // (for tests): as many shares as fit.
  double share_ns = 10000;
  std::optional<ReplayKind> replay;  // of several lanes: crew or flow; default: the one predicted
                                     // to be faster, within what predictions are worth
  bool reuse_arena = true;  // false: every tensor its own bytes (to look at them all after a run)
};

// Throws UnsupportedError naming the node ("rope 'blk.0.rope': backend cpu has no kernel for F32
// [...]") and ValueError for lanes outside 1..256. `graph` is what optimize()
// or lower() returned for the same assignment.
Plan make_plan(const Graph& graph, const Assignment& assignment, const PlanOptions& options);

// Proves the plan against the graph: tensors whose lives overlap share no bytes (in-place pairs
// apart, which must agree region by region), every lane reads only what is complete in its own lane
// or before the last join, every output element has exactly one owner (or one per lane for copies).
// Throws Error naming the two nodes. make_plan() does so itself in debug builds and where
// WEFT_CHECK_PLANS is set.
void check(const Plan& plan, const Graph& graph);

}  // namespace weft
