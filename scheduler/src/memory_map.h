#pragma once
// Where every node's bytes really lie: a plan's placements over the memory that an executor was
// given.

#include <cstddef>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/scheduler/executor.h"
#include "weft/scheduler/plan.h"

namespace weft {

class MemoryMap {
 public:
  // Asks `bindings` once for every weight and state. Throws ValueError where something is missing,
  // too small or not aligned.
  MemoryMap(const Graph& graph, const Plan& plan, const Bindings& bindings);

  // The memory of a node as lane `lane` sees it (its own copy where there are copies), at the
  // bounds. An empty view for kNoNode. Weights are those of memory `reader`.
  View view(NodeId id, int lane, std::int32_t reader = 0) const;
  std::int32_t memory_of(NodeId id) const {
    return plan_.placements[static_cast<std::size_t>(id)].memory;
  }

 private:
  const Graph& graph_;
  const Plan& plan_;
  void bind_devices(const Bindings& bindings);

  std::vector<std::byte*> base_;                     // by NodeId: the first copy; null for views
  std::vector<std::vector<std::byte*>> weights_on_;  // by device, by NodeId
};

}  // namespace weft
