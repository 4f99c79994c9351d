#pragma once
// The fusion passes, and functions to apply passes. Model code never fuses. Each pass creates nodes
// whose OpDef::definition is the equivalent graph of plain ops.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/pass.h"
#include "weft/scheduler/routing.h"

namespace weft {

// In order: fuse_norm_scale, fuse_qkv, fuse_gate_up, fuse_silu_mul, fuse_conv_silu, fuse_residual,
// turn_cache.
std::span<const Pass> fusion_passes();

struct PassOptions {
  std::vector<std::string> off;  // names of passes to skip; "all" skips every pass
  bool resident = false;         // also apply Backend::resident_lowering()
};

// Called with the graph after each pass that ran, and before the first one with a null pass.
using PassObserver = std::function<void(const Pass* pass, const Graph& graph)>;

// Checks the graph and applies the fusion passes. lower() checks the names in `off`.
Graph fuse(const Graph& graph, const PassOptions& options, const PassObserver& seen = {});

// Takes a graph from fuse(). Applies the lowering of Routes::lowering_backend(), its resident
// lowering if weights are resident, and place_copies(), then checks the graph again. Throws
// ValueError for unknown names in `off`.
Graph lower(Graph fused, const Assignment& assignment, const PassOptions& options,
            const PassObserver& seen = {});

// fuse() and lower() for one graph.
Graph optimize(const Graph& graph, const Assignment& assignment, const PassOptions& options = {},
               const PassObserver& seen = {});

}  // namespace weft
