#include <unordered_map>
#include <unordered_set>

#include "weft/base/error.h"
#include "weft/graph/graph.h"

#include "with_place.h"

namespace weft {
namespace {

[[noreturn]] void bad(const Node& node, const std::string& what) {
  fail<ValueError>("{} '{}': {} ({})", node.op ? node.op->name : to_string(node.kind), node.path,
                   what, to_string(node.where));
}

void check_op(const Graph& graph, NodeId id) {
  const Node& node = graph[id];
  for (const NodeId input : node.inputs) {
    if (input >= id)
      bad(node, fmt::format("input node {} does not come before its user {}", input, id));
  }
  const TensorSpec inferred = graph::with_place(*node.op, node.path, node.where, [&] {
    return node.op->infer(node.attrs, graph.input_specs(node));
  });
  if (inferred != node.spec) {
    bad(node,
        fmt::format("is {}, but its op infers {}", to_string(node.spec), to_string(inferred)));
  }
}

// The handle that `id` refers to: a view refers to that of its input.
NodeId handle_of(const Graph& graph, NodeId id) {
  while (graph[id].op && graph[id].op->storage == Storage::view) id = graph[id].inputs[0];
  return id;
}

// The node that owns the memory of `id`.
NodeId owner_of(const Graph& graph, NodeId id) {
  while (graph[id].op && graph[id].op->storage != Storage::fresh) id = graph[id].inputs[0];
  return id;
}

// A state that a node updates while it computes its output belongs to this node alone.
void check_updates(const Graph& graph) {
  const NodeUsers users = graph.users();
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (!node.op || node.op->updates < 0) continue;
    const NodeId state = node.inputs[static_cast<std::size_t>(node.op->updates)];
    if (graph[state].kind != NodeKind::state)
      bad(node, fmt::format("updates '{}', which is not a state", graph[state].path));
    for (const NodeId user : users[state]) {
      if (user != id)
        bad(node,
            fmt::format("updates '{}', which '{}' also uses", graph[state].path, graph[user].path));
    }
    for (const Graph::Output& output : graph.outputs()) {
      if (output.node == state)
        bad(node,
            fmt::format("updates '{}', which is the output '{}'", graph[state].path, output.name));
    }
  }
}

// After a state has been written, older handles of it, and views of these, name memory that has
// changed: later nodes must use the newest one.
void check_states(const Graph& graph) {
  std::unordered_map<NodeId, NodeId> newest;  // by state; absent until it is written
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    for (const NodeId input : node.inputs) {
      if (input == kNoNode) continue;
      const auto writer = newest.find(owner_of(graph, input));
      if (writer == newest.end() || handle_of(graph, input) == writer->second) continue;
      bad(node, fmt::format("uses '{}' after '{}' overwrote it", graph[input].path,
                            graph[writer->second].path));
    }
    if (!node.op || node.op->storage != Storage::state) continue;
    const NodeId state = owner_of(graph, id);
    if (graph[state].kind != NodeKind::state)
      bad(node, fmt::format("writes to '{}', which is not a state", graph[state].path));
    newest[state] = id;
  }
}

}  // namespace

void check(const Graph& graph) {
  if (graph.outputs().empty()) fail<ValueError>("the graph has no outputs");
  std::unordered_set<std::string_view> paths;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (!paths.insert(node.path).second) bad(node, "its path is not unique");
    if (node.kind == NodeKind::op) check_op(graph, id);
    if (!node.spec.present()) bad(node, "has no element type");
  }
  check_states(graph);
  check_updates(graph);
}

}  // namespace weft
