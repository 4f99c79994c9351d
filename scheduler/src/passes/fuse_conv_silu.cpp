#include "weft/ops/elementwise/silu.h"
#include "weft/ops/recurrent/causal_conv.h"

#include "matching.h"

namespace weft::scheduler {
namespace {

// A node that updates a state stays alive: the convolution is replaced before it is copied.
Graph apply(const Graph& graph) {
  const Matching match(graph);
  return rewrite(graph, kFuseConvSilu.name, [&](Rewriter& rewriter, NodeId id) {
    if (!match.is_inner(id, kCausalConv) || graph[id].attrs.as<CausalConvAttrs>().silu)
      return false;
    const NodeId activated = match.users(id).front();
    if (!match.is(activated, kSilu)) return false;
    std::vector<Tensor> inputs;
    for (const NodeId input : graph[id].inputs) inputs.push_back(rewriter(input));
    const std::string_view path =
        match.is_output(activated) ? std::string_view() : std::string_view(graph[id].path);
    rewriter.replace(activated, kCausalConv, inputs, CausalConvAttrs{.silu = true}, path);
    return true;
  });
}

}  // namespace

const Pass kFuseConvSilu{.name = "fuse_conv_silu",
                         .summary = "silu(causal_conv(x, w)) -> causal_conv(x, w) with silu",
                         .apply = apply,
                         .needs = &kCausalConv};

}  // namespace weft::scheduler
