#include <unordered_set>

#include "weft/graph/error.h"
#include "weft/graph/graph.h"

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
  const TensorSpec inferred = node.op->infer(node.attrs, graph.input_specs(node));
  if (inferred != node.spec) {
    bad(node,
        fmt::format("is {}, but its op infers {}", to_string(node.spec), to_string(inferred)));
  }
}

// After `writer` has written a state, the old handle of that state names memory that has changed:
// whoever comes later must use the new one.
void check_state_order(const Graph& graph) {
  const auto users = graph.users();
  for (NodeId writer = 0; writer < graph.size(); ++writer) {
    const Node& node = graph[writer];
    if (!node.op || node.op->storage != Storage::state) continue;
    const NodeId written = node.inputs[0];
    for (const NodeId user : users[static_cast<std::size_t>(written)]) {
      if (user > writer) {
        bad(graph[user],
            fmt::format("uses '{}' after '{}' has overwritten it", graph[written].path, node.path));
      }
    }
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
  check_state_order(graph);
}

}  // namespace weft
