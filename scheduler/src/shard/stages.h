#pragma once
// Which group of ranks computes each node, if groups have consecutive layers.

#include "weft/graph/graph.h"
#include "weft/graph/per_node.h"

namespace weft::scheduler {

inline constexpr int kEveryStage = -1;  // inputs, weights, and what is computed from them alone

// Layers are divided evenly. A node outside of layers belongs to the last stage that it depends on.
// Throws ValueError if there are fewer layers than stages.
PerNode<int> stages_of(const Graph& graph, int stages);

}  // namespace weft::scheduler
