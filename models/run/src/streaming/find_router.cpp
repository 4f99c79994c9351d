#include "streaming/find_router.h"

#include <algorithm>
#include <vector>

#include "weft/ops/projections/expert_linear.h"
#include "weft/ops/projections/linear.h"

namespace weft::run {
namespace {

const Node* weight_of(const Graph& graph, const Node& node, int rank) {
  for (const NodeId id : node.inputs) {
    if (id != kNoNode && graph[id].kind == NodeKind::weight &&
        graph[id].spec.shape.n_dims() == rank)
      return &graph[id];
  }
  return nullptr;
}

// The nearest node before `from` for which `is_wanted` is true, itself included.
template <class Wanted>
NodeId find_before(const Graph& graph, NodeId from, std::size_t max_nodes,
                   const Wanted& is_wanted) {
  if (from == kNoNode) return kNoNode;
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

// The input of the first node that computes with the experts; kNoNode if there is none.
NodeId input_of_experts(const Graph& graph, NodeId ids) {
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (graph[id].kind == NodeKind::op && graph[id].op == &kExpertLinear &&
        graph[id].inputs[2] == ids)
      return graph[id].inputs[0];
  }
  return kNoNode;
}

}  // namespace

RouterWeights find_router(const Graph& graph, NodeId ids, std::int64_t n_experts) {
  constexpr std::size_t kMaxNodes = 64, kMaxNodesToNorm = 8;
  const auto is_router = [&](const Node& node) {
    const Node* weight = node.op == &kLinear ? weight_of(graph, node, 2) : nullptr;
    return weight && weight->spec.shape[0].bound == n_experts;
  };
  const NodeId router = find_before(graph, ids, kMaxNodes, is_router);
  if (router == kNoNode) return {};
  const NodeId input = graph[router].inputs.front();
  const Node& weight = *weight_of(graph, graph[router], 2);
  const auto is_norm = [&](const Node& node) {
    const Node* scale = node.op == &kLinear ? nullptr : weight_of(graph, node, 1);
    return scale && scale->spec.shape.last() == weight.spec.shape.last();
  };
  const NodeId norm = find_before(graph, input, kMaxNodesToNorm, is_norm);
  const NodeId of_experts =
      find_before(graph, input_of_experts(graph, ids), kMaxNodesToNorm, is_norm);
  if (norm == kNoNode || norm != of_experts) return {};
  return {.router = weight.path, .norm = weight_of(graph, graph[norm], 1)->path};
}

}  // namespace weft::run
