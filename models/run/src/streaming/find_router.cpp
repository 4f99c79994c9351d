#include "streaming/find_router.h"

#include <algorithm>
#include <set>
#include <vector>

#include "weft/ops/projections/linear.h"

namespace weft::run {
namespace {

const Node* weight_of(const Graph& graph, const Node& node, int rank) {
  for (const NodeId id : node.inputs) {
    if (id != kNoNode && graph[id].kind == NodeKind::weight && graph[id].spec.shape.rank() == rank)
      return &graph[id];
  }
  return nullptr;
}

// The nearest node before `from` for which `is_wanted` is true, itself included.
template <class Wanted>
NodeId find_before(const Graph& graph, NodeId from, std::size_t max_nodes,
                   const Wanted& is_wanted) {
  std::vector<NodeId> seen{from};
  for (std::size_t i = 0; i < seen.size() && i < max_nodes; ++i) {
    const Node& node = graph[seen[i]];
    if (node.kind != NodeKind::op) continue;
    if (is_wanted(node)) return seen[i];
    for (const NodeId id : node.inputs)
      if (id != kNoNode && std::ranges::count(seen, id) == 0) seen.push_back(id);
  }
  return kNoNode;
}

}  // namespace

RouterWeights find_router(const Graph& graph, NodeId ids, std::int64_t n_experts) {
  constexpr std::size_t kMostNodes = 64, kMostNodesToNorm = 8;
  const auto is_router = [&](const Node& node) {
    const Node* weight = node.op == &kLinear ? weight_of(graph, node, 2) : nullptr;
    return weight && weight->spec.shape[0].bound == n_experts;
  };
  const NodeId router = find_before(graph, ids, kMostNodes, is_router);
  if (router == kNoNode) return {};
  const NodeId input = graph[router].inputs.front();
  const Node& weight = *weight_of(graph, graph[router], 2);
  const auto is_norm = [&](const Node& node) {
    const Node* scale = node.op == &kLinear ? nullptr : weight_of(graph, node, 1);
    return scale && scale->spec.shape.last() == weight.spec.shape.last();
  };
  const NodeId norm = find_before(graph, input, kMostNodesToNorm, is_norm);
  if (norm == kNoNode) return {};
  return {.router = weight.path, .norm = weight_of(graph, graph[norm], 1)->path};
}

}  // namespace weft::run
