#pragma once
// Graph -> plan: order, kernels, lanes and joins, arena.

#include <optional>
#include <string>

#include "weft/graph/graph.h"
#include "weft/scheduler/plan.h"
#include "weft/scheduler/routing.h"

namespace weft {

struct PlanOptions {
  std::string name;  // Plan::name
  int lanes = 2;
  bool allow_one_lane = false;  // use one lane if that is likely faster, because the work is too
                                // small to be worth a join
  // The minimum duration of a share, roughly, so that claiming it is worth the cost. 0 (for tests):
  // as many shares as possible.
  double share_ns = 10000;
  std::optional<ReplayKind> replay;  // for several lanes: crew or flow; default: the one predicted
                                     // to be faster
  bool separate_tensors = false;     // every tensor has its own bytes, to read them all after a run
};

// `graph` is from optimize() or lower() for the same assignment. Throws UnsupportedError
// naming the node ("rope 'blk.0.rope': backend cpu has no kernel for F32 [...]") and ValueError for
// lanes outside 1..kMaxWorkers.
Plan make_plan(const Graph& graph, const Assignment& assignment, const PlanOptions& options);

// Checks the plan against the graph. Tensors with overlapping lifetimes share no bytes, except for
// in-place pairs, which must agree region by region. Every lane reads only what is complete in its
// own lane or before the last join. Every output element has exactly one owner (or one per lane for
// copies). Throws Error naming the two nodes. make_plan() calls it in debug builds, and if
// WEFT_CHECK_PLANS is set.
void check(const Plan& plan, const Graph& graph);

}  // namespace weft
