#pragma once
// The weights by which a layer chooses its experts.

#include <cstdint>
#include <string>

#include "weft/graph/graph.h"

namespace weft::run {

struct RouterWeights {
  std::string router;  // [X, D]
  std::string norm;    // [D]: scales the input of the router and of the experts
};

// The router and the norm that compute the node `ids` [T, K]. Empty if the graph computes it in
// another way than by a product of a weight [X, D] with the norm that the experts also read.
RouterWeights find_router(const Graph& graph, NodeId ids, std::int64_t n_experts);

}  // namespace weft::run
