#include "shard/stages.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/graph/layer_path.h"

namespace weft::scheduler {
namespace {

std::int64_t layer_of(const Node& node) {
  return node.op ? parse_layer_path(node.path).layer : kNoLayer;
}

std::int64_t count_layers(const Graph& graph) {
  std::int64_t n = 0;
  for (NodeId id = 0; id < graph.size(); ++id) n = std::max(n, layer_of(graph[id]) + 1);
  return n;
}

}  // namespace

PerNode<int> stages_of(const Graph& graph, int stages) {
  PerNode<int> stage(graph, kEveryStage);
  if (stages == 1) {
    for (NodeId id = 0; id < graph.size(); ++id) stage[id] = graph[id].op ? 0 : kEveryStage;
    return stage;
  }
  const std::int64_t layers = count_layers(graph);
  if (layers < stages)
    fail<ValueError>("pp={} needs at least as many layers, the model has {} (up to pp={})", stages,
                     layers, std::max<std::int64_t>(layers, 1));
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    const std::int64_t layer = layer_of(node);
    if (layer != kNoLayer) stage[id] = static_cast<int>(layer * stages / layers);
    for (const NodeId input : node.inputs)
      if (input != kNoNode) stage[id] = std::max(stage[id], stage[input]);
  }
  return stage;
}

}  // namespace weft::scheduler
