#pragma once
// The fusion passes and how they are applied. Model code never fuses; each pass makes nodes whose
// OpDef::definition is the plain graph it equals.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/graph/pass.h"
#include "weft/scheduler/routing.h"

namespace weft {

// In order: fuse_norm_scale, fuse_qkv, fuse_gate_up, fuse_residual.
std::span<const Pass> fusion_passes();

struct PassOptions {
  std::vector<std::string> off;  // names of passes to leave out; "all" leaves out every pass
  bool resident = false;         // weights will be bound in the types that their nodes then have
};

// Called with the graph after each pass that ran, and before the first one with a null pass.
using PassObserver = std::function<void(const Pass* pass, const Graph& graph)>;

// check()s the graph and applies the fusion passes. Names in `off` are checked by lower().
Graph fuse(const Graph& graph, const PassOptions& options, const PassObserver& seen = {});

// What fuse() returned, with the lowering of the backend that the assignment names, then, if
// weights are resident, its resident lowering, then copies between memories; check()ed again.
// Throws ValueError for unknown names in `off`.
Graph lower(Graph fused, const Assignment& assignment, const PassOptions& options,
            const PassObserver& seen = {});

// Both for one graph.
Graph optimize(const Graph& graph, const Assignment& assignment, const PassOptions& options = {},
               const PassObserver& seen = {});

}  // namespace weft
