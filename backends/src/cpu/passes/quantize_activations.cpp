#include "cpu/passes/quantize_activations.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "weft/ops/attention/attention.h"
#include "weft/ops/formats/q8a.h"
#include "weft/ops/projections/projections.h"
#include "weft/ops/projections/quantize.h"

#include "cpu/cache_kernels.h"
#include "cpu/weight_formats.h"

namespace weft::cpu {
namespace {

// Whether input 0 is multiplied by integers only. SSE2 does not multiply keys as integers, but
// graphs, and with them rounding errors, are the same on all instruction sets.
bool has_integer_factors(const Graph& graph, const Node& node) {
  if (node.op == &kAttention || node.op == &kBiasedAttention) {
    const CacheKernels* keys = find_cache_kernels(graph[node.inputs[1]].spec.dtype);
    return keys && keys->integer_keys;
  }
  const std::span<const NodeId> weights = projection_weights(node);
  return !weights.empty() && std::ranges::all_of(weights, [&](NodeId w) {
    return has_integer_row(graph[w].spec.dtype);
  });
}

bool wants_q8a(const Graph& graph, const Node& node) {
  if (!has_integer_factors(graph, node)) return false;
  const TensorSpec& x = graph[node.inputs[0]].spec;
  return x.dtype == f32 && x.shape.last() % q8a.block_elems() == 0;
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
