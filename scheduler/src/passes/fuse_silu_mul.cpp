#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/ops/elementwise/silu_mul.h"

#include "matching.h"

namespace weft::scheduler {
namespace {

Graph apply(const Graph& graph) {
  const Matching match(graph);
  return rewrite(graph, kFuseSiluMul.name, [&](Rewriter& rewriter, NodeId id) {
    if (!match.is(id, kMul)) return false;
    NodeId activated = graph[id].inputs[0], other = graph[id].inputs[1];
    if (!match.is_inner(activated, kSilu)) std::swap(activated, other);
    if (!match.is_inner(activated, kSilu)) return false;
    if (graph[activated].spec != graph[other].spec) return false;
    rewriter.replace(id, kSiluMul, {{rewriter(graph[activated].inputs[0]), rewriter(other)}}, {});
    return true;
  });
}

}  // namespace

const Pass kFuseSiluMul{.name = "fuse_silu_mul",
                        .summary = "mul(silu(a), b) -> silu_mul(a, b)",
                        .apply = apply,
                        .needs = &kSilu};

}  // namespace weft::scheduler
