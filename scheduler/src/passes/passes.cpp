#include "weft/scheduler/passes.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/scheduler/routing.h"

#include "matching.h"

namespace weft {
namespace {

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
      fail<ValueError>("there is no pass '{}'; the passes are: {}", name, list);
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
  const auto apply = [&](const Pass& pass, const Routing* shared) {
    if (is_off(pass)) return;
    Graph next = pass.apply(current);
    current = shared ? shared->only_own(current, std::move(next), pass.name) : std::move(next);
    if (seen) seen(&pass, current, context);
  };
  for (const Pass& pass : fusion_passes()) apply(pass, nullptr);
  const auto* routing = dynamic_cast<const Routing*>(&backend);
  for (const Pass& pass : backend.lowering()) apply(pass, routing);
  if (options.resident) {
    for (const Pass& pass : backend.resident_lowering()) apply(pass, routing);
  }
  if (auto placed = backend.place_copies(current)) current = std::move(*placed);
  check(current);
  return current;
}

Graph optimize(const Graph& graph, const Backend& backend, const PassOptions& options) {
  return optimize(graph, backend, options, nullptr, nullptr);
}

}  // namespace weft
