#include "weft/scheduler/profiled_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "weft/base/hash.h"
#include "weft/draw/picture.h"

namespace weft {

const ProfiledNode* ProfiledPlan::find(std::string_view path) const {
  const auto found = std::ranges::find(nodes, path, &ProfiledNode::path);
  return found == nodes.end() ? nullptr : &*found;
}

std::string plan_signature(const Graph& graph, const Plan& plan) {
  Fnv1a64 hash;
  hash.add(fmt::format("{} {}", plan.name, plan.lanes));
  for (const PlanStep& step : plan.steps) {
    const Node& node = graph[step.node];
    // Lengths that depend on the context do not identify a plan.
    const bool state = node.op->storage == Storage::state;
    hash.add(fmt::format("\n{} {} {} {} {} {}", step.path, step.op, step.backend, step.stage,
                         to_string(step.split), state ? "" : draw::spec_text(graph, node.spec)));
    for (const NodeId in : node.inputs) {
      if (in != kNoNode && graph[in].kind == NodeKind::weight)
        hash.add(draw::spec_text(graph, graph[in].spec));
    }
  }
  return fmt::format("{:016x}", hash.value());
}

}  // namespace weft
