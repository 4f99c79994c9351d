#pragma once
// The weights by which a layer chooses its experts.

#include <cstdint>
#include <string>

#include "weft/graph/graph.h"

namespace weft::run {

struct RouterWeights {
  std::string router;  // [X, D]
  std::string norm;    // [D]: scales the input of the router
};

// Those from which a node `ids` [T, K] follows. Empty if the graph computes it in another way than
// by a product of a norm with a weight [X, D].
RouterWeights find_router(const Graph& graph, NodeId ids, std::int64_t n_experts);

}  // namespace weft::run
