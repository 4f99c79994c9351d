#include "weft/base/error.h"
#include "weft/graph/pass.h"

namespace weft {
namespace {

// "fuse_qkv+quantize_activations"; the same pass is not named twice in a row.
std::string joined(const std::string& earlier, const std::string& pass) {
  const bool again = earlier == pass || earlier.ends_with("+" + pass);
  return again ? earlier : earlier + "+" + pass;
}

// The nodes on which the outputs and the writers of states depend, and every input.
PerNode<bool> live_nodes(const Graph& graph) {
  PerNode<bool> alive(graph);
  for (const Graph::Output& output : graph.outputs()) alive[output.node] = true;
  for (NodeId id = graph.size() - 1; id >= 0; --id) {
    const Node& node = graph[id];
    const bool keeps = node.kind == NodeKind::input || (node.op && node.op->writes_state());
    if (keeps) alive[id] = true;
    if (!alive[id]) continue;
    for (const NodeId input : node.inputs) {
      if (input != kNoNode) alive[input] = true;
    }
  }
  return alive;
}

}  // namespace

Rewriter::Rewriter(const Graph& from, std::string_view pass_name)
    : from_(from), pass_name_(pass_name), map_(from, kNoNode) {
  to_.variables_ = from.variables_;
  to_.routers_ = from.routers_;
}

bool Rewriter::has(NodeId id) const {
  return map_[id] != kNoNode;
}

Tensor Rewriter::operator()(NodeId id) const {
  if (id == kNoNode) return {};
  if (!has(id))
    fail<ValueError>("pass {}: node '{}' is used before it was copied", pass_name_, from_[id].path);
  return {const_cast<Graph*>(&to_), map_[id]};
}

void Rewriter::map_to(NodeId id, Tensor t) {
  map_[id] = t.id();
}

Tensor Rewriter::copy(NodeId id) {
  Node node = from_[id];
  for (NodeId& input : node.inputs) {
    if (input != kNoNode) input = (*this)(input).id();
  }
  const Tensor t = to_.insert(std::move(node));
  map_to(id, t);
  return t;
}

Tensor Rewriter::copy_as(NodeId id, DType dtype) {
  Node node = from_[id];
  node.spec.dtype = dtype;
  const Tensor t = to_.insert(std::move(node));
  map_to(id, t);
  return t;
}

Tensor Rewriter::replace(NodeId like, const OpDef& op, std::span<const Tensor> inputs, Attrs attrs,
                         std::string_view path) {
  const Node& old = from_[like];
  const Tensor t = insert(op, inputs, std::move(attrs),
                          path.empty() ? std::string_view(old.path) : path, old.where);
  if (!old.made_by.empty()) to_.nodes_.back().made_by = joined(old.made_by, pass_name_);
  map_to(like, t);
  return t;
}

Tensor Rewriter::insert(const OpDef& op, std::span<const Tensor> inputs, Attrs attrs,
                        std::string_view path, SourceLine where) {
  const Tensor t = to_.add(op, inputs, std::move(attrs), where, path);
  to_.nodes_.back().made_by = pass_name_;
  return t;
}

Graph Rewriter::take() {
  for (const Graph::Output& output : from_.outputs()) to_.output(output.name, (*this)(output.node));
  return std::move(to_);
}

// The live nodes move together: a copy of each would cost as much as the pass itself.
void Rewriter::drop_dead_nodes(Graph& graph) {
  const PerNode<bool> alive = live_nodes(graph);
  PerNode<NodeId> now(graph, kNoNode);
  NodeId n = 0;
  for (NodeId id = 0; id < graph.size(); ++id) {
    Node& node = graph.nodes_[static_cast<std::size_t>(id)];
    if (!alive[id]) {
      graph.by_path_.erase(node.path);
      continue;
    }
    now[id] = n++;
    if (now[id] == id) continue;
    for (NodeId& input : node.inputs) {
      if (input != kNoNode) input = now[input];
    }
    graph.by_path_.find(node.path)->second = now[id];
    graph.nodes_[static_cast<std::size_t>(now[id])] = std::move(node);
  }
  graph.nodes_.resize(static_cast<std::size_t>(n));
  for (Graph::Output& output : graph.outputs_) output.node = now[output.node];
}

Graph Rewriter::finish() {
  Graph graph = take();
  drop_dead_nodes(graph);
  return graph;
}

Graph Rewriter::finish_with(std::span<const Graph::Output> outputs) {
  for (const Graph::Output& output : outputs) to_.output(output.name, {&to_, output.node});
  Graph graph = std::move(to_);
  drop_dead_nodes(graph);
  return graph;
}

Graph without_dead_nodes(const Graph& graph) {
  const PerNode<bool> alive = live_nodes(graph);
  Rewriter rewriter(graph, "");
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (alive[id]) rewriter.copy(id);
  }
  return rewriter.take();
}

}  // namespace weft
