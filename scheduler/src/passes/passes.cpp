#include "weft/scheduler/passes.h"

#include <algorithm>

#include "weft/graph/error.h"

#include "matching.h"

namespace weft {
namespace {

void check_names(const Backend& backend, const PassOptions& options) {
  std::string known = "all";
  const auto is_known = [&](const std::string& name) {
    const auto same = [&](const Pass& pass) { return pass.name == name; };
    const auto fusion = fusion_passes(), lowering = backend.lowering();
    return name == "all" || std::any_of(fusion.begin(), fusion.end(), same) ||
           std::any_of(lowering.begin(), lowering.end(), same);
  };
  for (const Pass& pass : fusion_passes()) known += fmt::format(", {}", pass.name);
  for (const Pass& pass : backend.lowering()) known += fmt::format(", {}", pass.name);
  for (const std::string& name : options.off) {
    if (!is_known(name)) fail<ValueError>("there is no pass '{}'; the passes are: {}", name, known);
  }
}

}  // namespace

std::span<const Pass> fusion_passes() {
  static const Pass passes[] = {kFuseNormScale, kFuseQkv, kFuseGateUp, kFuseResidual};
  return passes;
}

Graph optimize(const Graph& graph, const Backend& backend, const PassOptions& options,
               void (*seen)(const Pass* pass, const Graph& graph, void* context), void* context) {
  check_names(backend, options);
  check(graph);
  Graph current = without_dead_nodes(graph);
  if (seen) seen(nullptr, current, context);
  const auto is_off = [&](const Pass& pass) {
    return std::any_of(options.off.begin(), options.off.end(),
                       [&](const std::string& name) { return name == "all" || name == pass.name; });
  };
  const auto apply = [&](const Pass& pass) {
    if (is_off(pass)) return;
    current = pass.apply(current);
    if (seen) seen(&pass, current, context);
  };
  for (const Pass& pass : fusion_passes()) apply(pass);
  for (const Pass& pass : backend.lowering()) apply(pass);
  check(current);
  return current;
}

Graph optimize(const Graph& graph, const Backend& backend, const PassOptions& options) {
  return optimize(graph, backend, options, nullptr, nullptr);
}

}  // namespace weft
