#pragma once
// Queries about a graph that the fusion passes share.

#include <cstdint>
#include <span>

#include "weft/graph/graph.h"
#include "weft/graph/pass.h"
#include "weft/graph/per_node.h"
#include "weft/ops/projections/linear.h"

namespace weft::scheduler {

extern const Pass kFuseNormScale;
extern const Pass kFuseQkv;
extern const Pass kFuseGateUp;
extern const Pass kFuseSiluMul;
extern const Pass kFuseConvSilu;
extern const Pass kFuseResidual;
extern const Pass kTurnCache;

// kTurnCache, for caches of the types that `wanted` names.
Graph turn_caches(const Graph& graph, bool (*wanted)(DType));

class Matching {
 public:
  explicit Matching(const Graph& graph);

  const Graph& graph() const { return graph_; }
  std::span<const NodeId> users(NodeId id) const { return users_[id]; }
  bool is_output(NodeId id) const { return output_[id] != 0; }
  bool is(NodeId id, const OpDef& op) const { return id != kNoNode && graph_[id].op == &op; }
  // Whether the node is of `op` and has only one user, so that it can be fused into that user.
  bool is_inner(NodeId id, const OpDef& op) const {
    return is(id, op) && users(id).size() == 1 && !is_output(id);
  }

 private:
  const Graph& graph_;
  NodeUsers users_;
  PerNode<char> output_;
};

// The inputs of a linear node, by name.
struct LinearInputs {
  NodeId x, w, bias, residual;
};
inline LinearInputs linear_inputs(const Node& node) {
  return {node.inputs[0], node.inputs[1], node.inputs[2], node.inputs[3]};
}

// Copies node by node; `fuse(rewriter, id)` returns true if it has replaced the node itself. Drops
// nodes that are not needed any more.
template <class F>
Graph rewrite(const Graph& graph, std::string_view pass, F fuse) {
  Rewriter rewriter(graph, pass);
  for (NodeId id = 0; id < graph.size(); ++id) {
    if (!rewriter.has(id) && !fuse(rewriter, id)) rewriter.copy(id);
  }
  return rewriter.finish();
}

}  // namespace weft::scheduler
