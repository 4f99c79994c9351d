#pragma once
// Graph passes. A pass reads one graph and returns another that computes the same outputs. The
// passes themselves are in scheduler/. This header defines Pass, and the rewriter that copies a
// graph while replacing parts of it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/graph.h"
#include "weft/graph/per_node.h"

namespace weft {

struct Pass {
  std::string_view name;     // "fuse_qkv": used by --no-pass and Node::made_by
  std::string_view summary;  // one line for `weft dot --passes`
  Graph (*apply)(const Graph&);
  const OpDef* needs = nullptr;  // without a node of this op, the pass would change nothing
  bool rounds = false;           // other values are rounded, not only sums in another order
};

// Copies a graph node by node. A pass decides per node: copy it (the default), replace it, or map
// it to another node.
class Rewriter {
 public:
  Rewriter(const Graph& from, std::string_view pass_name);

  const Graph& from() const { return from_; }
  // The tensor of the new graph that node `id` of the old one was mapped to. REQUIRES: has(id).
  Tensor operator()(NodeId id) const;
  bool has(NodeId id) const;  // the node was copied, replaced or mapped

  Tensor copy(NodeId id);
  // Copies a weight that will be bound in another element type. REQUIRES: `id` is a weight.
  Tensor copy_as(NodeId id, DType dtype);
  // Adds an op node and maps the old node `like` to it. The new node has the source line of `like`,
  // and its path unless `path` is given. Its made_by is that of `like` plus "+" and this pass.
  Tensor replace(NodeId like, const OpDef& op, std::span<const Tensor> inputs, Attrs attrs,
                 std::string_view path = {});
  // Adds an op node that no old node is mapped to.
  Tensor insert(const OpDef& op, std::span<const Tensor> inputs, Attrs attrs, std::string_view path,
                SourceLine where);
  // Maps old node `id` to `t` of the new graph.
  void map_to(NodeId id, Tensor t);

  // Copies outputs and returns the new graph without its dead nodes (see without_dead_nodes).
  Graph finish();
  // The same for passes that give the new graph other outputs.
  Graph finish_with(std::span<const Graph::Output> outputs);

  // For weights and states that the old graph does not have.
  Graph& target() { return to_; }

 private:
  friend Graph without_dead_nodes(const Graph& graph);
  Graph take();  // finish() without the clean-up
  static void drop_dead_nodes(Graph& graph);

  const Graph& from_;
  std::string pass_name_;
  Graph to_;
  PerNode<NodeId> map_;
};

// Copies every input, and all nodes on which the outputs and the writers of states depend. Unused
// inputs stay, so that passes do not change the inputs of a graph.
Graph without_dead_nodes(const Graph& graph);

}  // namespace weft
