#pragma once
// Stages whose lanes are divided into shares that any worker may take (crew.h).

#include <span>
#include <unordered_map>

#include "weft/graph/graph.h"

#include "plan/lanes.h"

namespace weft::lanes {

// How each step of a stage is divided into `parts` shares: copies stay copies per worker,
// everything else is split by columns or rows.
using Cuts = std::unordered_map<NodeId, Share>;

// Whether the shares can run in any order and on any worker: no share needs what another one
// computes in this stage, or overwrites what another one reads, and repeated work depends on no
// share.
bool are_independent(const Graph& graph, std::span<const NodeId> steps, const Cuts& cuts,
                     int parts);

}  // namespace weft::lanes
