#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/ops/projections/gated_linear.h"

#include "matching.h"

namespace weft::scheduler {
namespace {

// Whether a node is a projection without bias and residual that has only one user.
bool is_plain(const Matching& match, NodeId id) {
  if (!match.is_inner(id, kLinear)) return false;
  const LinearInputs in = linear_inputs(match.graph()[id]);
  return in.bias == kNoNode && in.residual == kNoNode;
}

// Whether `activated` is silu(linear(x, gate)) and `other` is linear(x, up).
bool matches(const Matching& match, NodeId activated, NodeId other) {
  if (!match.is_inner(activated, kSilu) || !is_plain(match, other)) return false;
  const NodeId gate = match.graph()[activated].inputs[0];
  return is_plain(match, gate) && match.graph()[gate].inputs[0] == match.graph()[other].inputs[0] &&
         match.graph()[gate].spec == match.graph()[other].spec;
}

Graph apply(const Graph& graph) {
  const Matching match(graph);
  return rewrite(graph, kFuseGateUp.name, [&](Rewriter& rewriter, NodeId id) {
    if (!match.is(id, kMul)) return false;
    NodeId activated = graph[id].inputs[0], up = graph[id].inputs[1];
    if (!matches(match, activated, up)) std::swap(activated, up);
    if (!matches(match, activated, up)) return false;
    const LinearInputs gate = linear_inputs(graph[graph[activated].inputs[0]]);
    rewriter.replace(id, kGatedLinear,
                     {{rewriter(gate.x), rewriter(gate.w), rewriter(linear_inputs(graph[up]).w)}},
                     GatedLinearAttrs{Activation::silu});
    return true;
  });
}

}  // namespace

const Pass kFuseGateUp{.name = "fuse_gate_up",
                       .summary = "mul(silu(linear(x, a)), linear(x, b)) -> gated_linear(x, a, b)",
                       .apply = apply,
                       .needs = &kSilu};

}  // namespace weft::scheduler
