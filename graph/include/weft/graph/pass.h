#pragma once
// Graph passes. A pass reads one graph and returns another that computes the same outputs. Passes
// live in scheduler/; this header has the two things they share: what a pass is, and the rewriter
// that copies a graph while replacing parts of it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/graph/per_node.h"

namespace weft {

struct Pass {
  std::string_view name;     // "fuse_qkv": what --no-pass takes and Node::made_by lists
  std::string_view summary;  // one line for `weft dot --passes`
  Graph (*apply)(const Graph&);
};

// Copies a graph node by node. A pass decides per node: copy (the default), replace, or drop
// because something else stands for it.
class Rewriter {
 public:
  Rewriter(const Graph& from, std::string_view pass_name);

  const Graph& from() const { return from_; }
  // The tensor of the new graph that stands for node `id` of the old one. REQUIRES: the node was
  // copied or replaced.
  Tensor operator()(NodeId id) const;
  bool has(NodeId id) const;

  Tensor copy(NodeId id);
  // Copies a weight that will be bound in another element type. REQUIRES: `id` is a weight.
  Tensor copy_as(NodeId id, DType dtype);
  // Adds a new op node at the place and source line of old node `like`, with its path unless `path`
  // is given, and lets it stand for `like`. Its made_by is that of `like`, "+" and this pass.
  Tensor replace(NodeId like, const OpDef& op, std::span<const Tensor> inputs, Attrs attrs,
                 std::string_view path = {});
  // Adds a new op node that stands for no old one.
  Tensor insert(const OpDef& op, std::span<const Tensor> inputs, Attrs attrs, std::string_view path,
                std::source_location where);
  // Lets `t` of the new graph stand for old node `id`.
  void stand_for(NodeId id, Tensor t);

  // Copies outputs and returns the new graph without its dead nodes (see without_dead_nodes).
  Graph finish();

 private:
  friend Graph without_dead_nodes(const Graph& graph);
  Graph take();  // finish() without the clean-up
  static void drop_dead_nodes(Graph& graph);

  const Graph& from_;
  std::string pass_name_;
  Graph to_;
  PerNode<NodeId> map_;
};

// Copies what the outputs and the writers of states depend on, and every input: what a graph takes
// is the same after every pass.
Graph without_dead_nodes(const Graph& graph);

}  // namespace weft
