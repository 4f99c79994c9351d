#pragma once
// The addresses of all nodes: a plan's placements in the memory that an executor was given.

#include <cstddef>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/scheduler/executor.h"
#include "weft/scheduler/plan.h"

namespace weft::scheduler {

class MemoryMap {
 public:
  // Asks `bindings` once for every weight and state. Throws ValueError if something is missing,
  // too small or not aligned.
  MemoryMap(const Graph& graph, const Plan& plan, const Bindings& bindings);

  // The memory of a node for lane `lane` (its own copy if there are copies), at the bounds. An
  // empty view for kNoNode. Weights are those in memory `reader`.
  View view(NodeId id, int lane, MemoryId reader = MemoryId::host) const;
  MemoryId memory_of(NodeId id) const { return plan_.placements[id].memory; }

 private:
  const Graph& graph_;
  const Plan& plan_;
  void bind_devices(const Bindings& bindings);

  PerNode<std::byte*> base_;                     // the first copy; null for views
  PerNode<PagedRows*> paged_;                    // View::paged
  std::vector<PerNode<std::byte*>> weights_on_;  // by device
};

}  // namespace weft::scheduler
