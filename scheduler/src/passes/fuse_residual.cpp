#include "weft/ops/elementwise/add.h"

#include "matching.h"

namespace weft::scheduler {
namespace {

bool takes_residual(const Matching& match, NodeId linear, NodeId residual, NodeId sum) {
  if (!match.is_inner(linear, kLinear) || linear_inputs(match.graph()[linear]).residual != kNoNode)
    return false;
  const TensorSpec& spec = match.graph()[sum].spec;
  return linear != residual && match.graph()[linear].spec == spec &&
         match.graph()[residual].spec == spec;
}

Graph apply(const Graph& graph) {
  const Matching match(graph);
  return rewrite(graph, kFuseResidual.name, [&](Rewriter& rewriter, NodeId id) {
    if (!match.is(id, kAdd)) return false;
    NodeId residual = graph[id].inputs[0], linear = graph[id].inputs[1];
    if (!takes_residual(match, linear, residual, id)) std::swap(residual, linear);
    if (!takes_residual(match, linear, residual, id)) return false;
    const LinearInputs in = linear_inputs(graph[linear]);
    rewriter.replace(id, kLinear,
                     {{rewriter(in.x), rewriter(in.w), rewriter(in.bias), rewriter(residual)}},
                     graph[linear].attrs);
    return true;
  });
}

}  // namespace

const Pass kFuseResidual{.name = "fuse_residual",
                         .summary = "add(r, linear(x, w, b)) -> linear(x, w, b, r)",
                         .apply = apply,
                         .needs = &kAdd};

}  // namespace weft::scheduler
