#include "plan/shares.h"

namespace weft::lanes {
namespace {

struct Stage {
  const Graph& graph;
  std::span<const NodeId> steps;
  const Cuts& cuts;
  int parts;

  // Whether some part of `reader` needs something that another part of `maker` computes.
  bool crosses(NodeId reader, std::size_t input, NodeId maker) const {
    const Share &reads = cuts.at(reader), &makes = cuts.at(maker);
    for (int part = 0; part < parts; ++part) {
      if (needs_other_lanes(need(graph, graph[reader], input, reads, part), part, makes, parts))
        return true;
    }
    return false;
  }
};

bool is_state_writer(const Graph& graph, NodeId id, std::size_t input) {
  return graph[id].op->storage == Storage::state && input == 0;
}

// Whether any two accesses to one state, if at least one writes, are within the same part.
bool states_are_apart(const Stage& stage) {
  const Graph& graph = stage.graph;
  for (const NodeId writer : stage.steps) {
    if (graph[writer].op->storage != Storage::state) continue;
    for (const NodeId other : stage.steps) {
      for (std::size_t i = 0; i < graph[other].inputs.size(); ++i) {
        if (other == writer || graph[other].inputs[i] == kNoNode ||
            state_of(graph, graph[other].inputs[i]) != state_of(graph, writer))
          continue;
        if (is_state_writer(graph, other, i)
                ? stage.cuts.at(other).cols != stage.cuts.at(writer).cols
                : stage.crosses(other, i, writer))
          return false;
      }
    }
  }
  return true;
}

// Whether `id` may reuse the memory of its input while other shares of the stage run.
bool may_overwrite(const Stage& stage, NodeId id) {
  const Graph& graph = stage.graph;
  const std::size_t index = static_cast<std::size_t>(graph[id].op->in_place_over);
  if (graph[id].op->in_place_over < 0 || index >= graph[id].inputs.size() ||
      graph[id].inputs[index] == kNoNode)
    return true;
  const Source source = source_of(graph, graph[id].inputs[index]);
  const NodeId over = source.node;
  if (source.col != 0 || !source.rows_match || graph[over].spec.bytes() != graph[id].spec.bytes())
    return true;  // it never does
  const bool copies = stage.cuts.at(id).split == Split::copies;
  for (const NodeId reader : stage.steps) {
    for (std::size_t i = 0; i < graph[reader].inputs.size(); ++i) {
      if (graph[reader].inputs[i] == kNoNode ||
          source_of(graph, graph[reader].inputs[i]).node != over)
        continue;
      if (copies ? stage.cuts.at(reader).split != Split::copies : stage.crosses(reader, i, id))
        return false;
    }
  }
  return true;
}

}  // namespace

bool are_independent(const Graph& graph, std::span<const NodeId> steps, const Cuts& cuts,
                     int parts) {
  const Stage stage{graph, steps, cuts, parts};
  for (const NodeId id : steps) {
    if (cuts.at(id).split == Split::one) return false;
    for (std::size_t i = 0; i < graph[id].inputs.size(); ++i) {
      if (graph[id].inputs[i] == kNoNode) continue;
      const NodeId maker = source_of(graph, graph[id].inputs[i]).node;
      if (!cuts.contains(maker) || graph[maker].op->storage == Storage::state) continue;
      if (stage.crosses(id, i, maker)) return false;
    }
    if (!may_overwrite(stage, id)) return false;
  }
  return states_are_apart(stage);
}

}  // namespace weft::lanes
