#include <map>

#include <fmt/format.h>

#include "weft/graph/pass.h"
#include "weft/graph/per_node.h"
#include "weft/ops/rows/copy.h"
#include "weft/scheduler/routing.h"

#include "plan/lanes.h"

namespace weft {
namespace {

// The memory in which each node computes, or that holds it. Weights are wherever they are needed.
PerNode<MemoryId> memories_of(const Graph& graph, const Assignment& assignment) {
  PerNode<MemoryId> all(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (lanes::does_work(node)) {
      const auto kernel = assignment.find(graph, node);
      if (kernel) all[id] = assignment.memory_of(*kernel);
    } else if (node.op) {
      all[id] = all[lanes::source_of(graph, id).node];
    }
  }
  return all;
}

class CopyPlacer {
 public:
  CopyPlacer(const Graph& graph, const Assignment& assignment)
      : graph_(graph),
        devices_(assignment.routes().devices()),
        memory_(memories_of(graph, assignment)),
        rewriter_(graph, "place_copies") {}

  Graph run() {
    for (NodeId id = 0; id < graph_.size(); ++id) {
      if (!lanes::does_work(graph_[id]) || !move_inputs(id)) rewriter_.copy(id);
    }
    for (const Graph::Output& output : graph_.outputs()) {
      if (is_device(memory_[output.node]))
        rewriter_.map_to(output.node, copy_to(output.node, MemoryId::host));
    }
    return rewriter_.finish();
  }

 private:
  std::string_view name_of(MemoryId memory) const {
    return is_device(memory) ? devices_[device_index(memory)]->name() : "host";
  }

  // Whether a reader in memory `to` needs a copy. Weights and states are already there.
  bool moves(NodeId input, MemoryId to) const {
    const NodeKind kind = graph_[lanes::memory_of(graph_, input)].kind;
    return (kind == NodeKind::op || kind == NodeKind::input) && memory_[input] != to;
  }

  bool move_inputs(NodeId id) {
    const Node& node = graph_[id];
    std::vector<Tensor> inputs;
    bool moved = false;
    for (const NodeId input : node.inputs) {
      if (input == kNoNode) {
        inputs.emplace_back();
        continue;
      }
      const bool now = moves(input, memory_[id]);
      inputs.push_back(now ? copy_to(input, memory_[id]) : rewriter_(input));
      moved |= now;
    }
    if (moved) rewriter_.replace(id, *node.op, inputs, node.attrs);
    return moved;
  }

  // Adds at most one copy per node and memory. Copies between devices go through the host.
  Tensor copy_to(NodeId id, MemoryId to) {
    const auto [at, is_new] = copies_.emplace(std::pair(id, to), Tensor());
    if (!is_new) return Tensor(at->second);
    if (is_device(memory_[id]) && is_device(to)) {
      copies_.insert_or_assign(std::pair(id, to),
                               copy(id, copy_to(id, MemoryId::host), MemoryId::host, to));
    } else {
      copies_.insert_or_assign(std::pair(id, to), copy(id, rewriter_(id), memory_[id], to));
    }
    return Tensor(copies_.at(std::pair(id, to)));
  }

  Tensor copy(NodeId id, Tensor tensor, MemoryId from, MemoryId to) {
    const Tensor in[] = {tensor};
    return rewriter_.insert(kCopy, in, CopyAttrs{from, to},
                            fmt::format("{}.to_{}", graph_[id].path, name_of(to)),
                            graph_[id].where);
  }

  const Graph& graph_;
  const std::vector<const Backend*>& devices_;
  const PerNode<MemoryId> memory_;
  Rewriter rewriter_;
  std::map<std::pair<NodeId, MemoryId>, Tensor> copies_;
};

}  // namespace

Graph place_copies(const Graph& graph, const Assignment& assignment) {
  return CopyPlacer(graph, assignment).run();
}

}  // namespace weft
