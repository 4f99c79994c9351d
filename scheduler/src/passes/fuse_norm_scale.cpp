#include "weft/ops/elementwise/mul.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/norms/rms_norm_mul.h"

#include "matching.h"

namespace weft::scheduler {
namespace {

Graph apply(const Graph& graph) {
  const Matching match(graph);
  return rewrite(graph, kFuseNormScale.name, [&](Rewriter& rewriter, NodeId id) {
    if (!match.is(id, kMul)) return false;
    const NodeId norm = graph[id].inputs[0], w = graph[id].inputs[1];
    if (!match.is_inner(norm, kRmsNorm)) return false;
    if (graph[w].spec != TensorSpec{f32, {graph[id].spec.shape.last()}}) return false;
    rewriter.replace(id, kRmsNormMul, {{rewriter(graph[norm].inputs[0]), rewriter(w)}},
                     graph[norm].attrs);
    return true;
  });
}

}  // namespace

const Pass kFuseNormScale{.name = "fuse_norm_scale",
                          .summary = "mul(rms_norm(x), w) -> rms_norm_mul(x, w)",
                          .apply = apply,
                          .needs = &kRmsNorm};

}  // namespace weft::scheduler
