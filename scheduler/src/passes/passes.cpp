#include "weft/scheduler/passes.h"

#include <algorithm>

#include "weft/base/error.h"

#include "lowered_part.h"
#include "matching.h"

namespace weft {
namespace {

using namespace scheduler;

void check_names(const Backend& backend, const PassOptions& options) {
  std::vector<std::string_view> known{"all"};
  std::string list = "all";
  for (const auto passes : {fusion_passes(), backend.lowering(), backend.resident_lowering()}) {
    for (const Pass& pass : passes) {
      known.push_back(pass.name);
      list += fmt::format(", {}", pass.name);
    }
  }
  for (const std::string& name : options.off) {
    if (std::ranges::find(known, name) == known.end())
      fail<ValueError>("unknown pass '{}' (known: {})", name, list);
  }
}

bool is_off(const Pass& pass, const PassOptions& options) {
  return std::ranges::any_of(
      options.off, [&](const std::string& name) { return name == "all" || name == pass.name; });
}

bool may_change(const Pass& pass, const Graph& graph) {
  if (!pass.needs) return true;
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].op == pass.needs) return true;
  }
  return false;
}

}  // namespace

std::span<const Pass> fusion_passes() {
  static const Pass passes[] = {kFuseNormScale, kFuseQkv,      kFuseGateUp, kFuseSiluMul,
                                kFuseConvSilu,  kFuseResidual, kTurnCache};
  return passes;
}

Graph fuse(const Graph& graph, const PassOptions& options, const PassObserver& seen) {
  check(graph);
  Graph current = without_dead_nodes(graph);
  if (seen) seen(nullptr, current);
  for (const Pass& pass : fusion_passes()) {
    if (is_off(pass, options)) continue;
    if (may_change(pass, current)) current = pass.apply(current);
    if (seen) seen(&pass, current);
  }
  return current;
}

Graph lower(Graph fused, const Assignment& assignment, const PassOptions& options,
            const PassObserver& seen) {
  const Backend& backend = assignment.routes().lowering_backend();
  check_names(backend, options);
  Graph current = std::move(fused);
  const auto apply = [&](std::span<const Pass> passes) {
    for (const Pass& pass : passes) {
      if (is_off(pass, options)) continue;
      current = lowered_part(current, pass.apply(current), assignment, pass.name);
      if (seen) seen(&pass, current);
    }
  };
  apply(backend.lowering());
  if (options.resident) apply(backend.resident_lowering());
  if (!assignment.routes().devices().empty()) current = place_copies(current, assignment);
  check(current);
  return current;
}

Graph optimize(const Graph& graph, const Assignment& assignment, const PassOptions& options,
               const PassObserver& seen) {
  return lower(fuse(graph, options, seen), assignment, options, seen);
}

}  // namespace weft
