#pragma once
// Decides which nodes the ranks of a group compute in parts.

#include "weft/graph/graph.h"
#include "weft/graph/per_node.h"
#include "weft/scheduler/shard.h"

#include "shard/cut.h"

namespace weft::scheduler {

struct Decisions {
  PerNode<Cut> cuts;    // outputs of nodes, and states; whole: all ranks compute it
  PerNode<char> terms;  // 1: every rank computes a term of a sum, from parts of the inputs
};

// Throws ValueError if the number of heads is not a multiple of the number of ranks.
Decisions decide(const Graph& graph, int ranks, std::int64_t min_elems);

}  // namespace weft::scheduler
