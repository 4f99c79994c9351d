#include "cpu/passes/quantize_activations.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "weft/ops/attention/attention.h"
#include "weft/ops/formats/q8a.h"
#include "weft/ops/projections/projections.h"
#include "weft/ops/projections/quantize.h"

#include "cpu/weight_formats.h"

namespace weft::cpu {
namespace {

// The inputs that input 0 is multiplied by.
std::span<const NodeId> factors(const Node& node) {
  if (node.op == &kAttention || node.op == &kBiasedAttention)
    return std::span(node.inputs).subspan(1, 1);
  return projection_weights(node);
}

// Keys in blocks are Q8_0 or Q4_0. SSE2 does not multiply keys as integers, but graphs, and with
// them rounding errors, are the same on all instruction sets.
bool wants_q8a(const Graph& graph, const Node& node) {
  const std::span<const NodeId> with = factors(node);
  if (with.empty()) return false;
  const TensorSpec& x = graph[node.inputs[0]].spec;
  return x.dtype == f32 && x.shape.last() % q8a.block_elems() == 0 &&
         std::ranges::all_of(with, [&](NodeId w) { return has_integer_row(graph[w].spec.dtype); });
}

Graph apply(const Graph& graph) {
  Rewriter rewriter(graph, kQuantizeActivations.name);
  std::unordered_map<NodeId, Tensor> quantized;  // by the old activation
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (!wants_q8a(graph, node)) {
      rewriter.copy(id);
      continue;
    }
    const NodeId x = node.inputs[0];
    if (!quantized.contains(x)) {
      const Tensor in[] = {rewriter(x)};
      quantized.emplace(x, rewriter.insert(kQuantize, in, {}, graph[x].path + ".q8a", node.where));
    }
    std::vector<Tensor> inputs{quantized.at(x)};
    for (std::size_t i = 1; i < node.inputs.size(); ++i) inputs.push_back(rewriter(node.inputs[i]));
    rewriter.replace(id, *node.op, inputs, node.attrs);
  }
  return rewriter.finish();
}

}  // namespace

const Pass kQuantizeActivations{
    .name = "quantize_activations",
    .summary =
        "activations of quantized weights or keys become blocks of 8-bit integers, once per "
        "activation",
    .apply = apply};

}  // namespace weft::cpu
