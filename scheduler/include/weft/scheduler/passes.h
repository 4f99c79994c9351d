#pragma once
// The fusion passes and how they are applied. Model code never fuses; each pass makes nodes whose
// OpDef::definition is the plain graph it equals.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/graph/pass.h"

namespace weft {

// In order: fuse_norm_scale, fuse_qkv, fuse_gate_up, fuse_residual.
std::span<const Pass> fusion_passes();

struct PassOptions {
  std::vector<std::string> off;  // names of passes to leave out; "all" leaves out every pass
  bool resident = false;         // weights will be bound in the types that their nodes then have
};

// check()s the graph, applies the fusion passes, then the backend's lowering, then, where weights
// are resident, its resident lowering, and check()s again.
// Throws ValueError for unknown names in `off`.
Graph optimize(const Graph& graph, const Backend& backend, const PassOptions& options = {});

// The same, calling `seen` with the graph after each pass that ran (before the first one with a
// null pass).
Graph optimize(const Graph& graph, const Backend& backend, const PassOptions& options,
               void (*seen)(const Pass* pass, const Graph& graph, void* context), void* context);

}  // namespace weft
