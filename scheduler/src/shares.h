#pragma once
// Stages whose lanes are cut once more, into shares that any worker may take (crew.h).

#include <span>
#include <unordered_map>

#include "weft/graph/graph.h"

#include "lanes.h"

namespace weft::lanes {

// The steps of one stage in plan order, and how each of them is cut into `parts` shares: copies
// stay copies per worker, everything else is cut by columns or rows.
using Cuts = std::unordered_map<NodeId, Share>;

// Whether the shares can be done in any order and by any worker: none needs what another one makes
// in this stage, or overwrites what another one reads, and what workers repeat depends on no share.
bool are_independent(const Graph& graph, std::span<const NodeId> steps, const Cuts& cuts,
                     int parts);

}  // namespace weft::lanes
