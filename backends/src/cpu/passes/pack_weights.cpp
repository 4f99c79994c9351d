#include "cpu/passes/pack_weights.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "weft/ops/projections/projections.h"
#include "weft/ops/rows/get_rows.h"

#include "cpu/isa_table.h"
#include "cpu/panels.h"
#include "cpu/weight_formats.h"

namespace weft::cpu {
namespace {

bool is_weight_of(const Node& user, NodeId id) {
  return std::ranges::count(projection_weights(user), id) != 0;
}

// Whether this user can read the weight from panels.
bool reads_panels(const Graph& graph, const Node& user, NodeId id, FeatureSet has) {
  if (user.op == &kGetRows) return user.inputs[1] != id;
  return is_weight_of(user, id) && user.inputs[0] != id &&
         has_panel_row(graph[user.inputs[0]].spec.dtype, graph[id].spec.dtype, has);
}

// Whether panels hold rows of one matrix only, and there is one.
bool has_panels(const Shape& shape) {
  const std::int64_t n = shape.n_dims() > 2 ? shape[-2].bound : shape.rows().bound;
  return n >= kPanelRows && (shape.n_dims() <= 2 || n % kPanelRows == 0);
}

// Every user reads panels, at least one of them all of the weight, and there is a panel to read.
PerNode<bool> packable(const Graph& graph, FeatureSet has) {
  PerNode<bool> all(graph, true), any(graph);
  for (NodeId user = 0; user < graph.size(); ++user) {
    for (const NodeId id : graph[user].inputs) {
      if (id == kNoNode || graph[id].kind != NodeKind::weight) continue;
      all[id] = all[id] && reads_panels(graph, graph[user], id, has);
      any[id] = any[id] || graph[user].op != &kGetRows;
    }
  }
  for (NodeId id = 0; id < graph.size(); ++id)
    all[id] = all[id] && any[id] && has_panels(graph[id].spec.shape);
  for (const Graph::Output& output : graph.outputs()) all[output.node] = false;
  return all;
}

Graph apply(const Graph& graph, FeatureSet has) {
  const PerNode<bool> packs = packable(graph, has);
  Rewriter rewriter(graph, "pack_weights");
  for (NodeId id = 0; id < graph.size(); ++id) {
    const bool is_weight = graph[id].kind == NodeKind::weight;
    if (is_weight && packs[id]) {
      rewriter.copy_as(id, panels_of(graph[id].spec.dtype));
    } else {
      rewriter.copy(id);
    }
  }
  return rewriter.finish();
}

// One for each instruction set.
using Apply = Graph (*)(const Graph&);
constexpr auto kApplyFor = []<std::size_t... kIndex>(std::index_sequence<kIndex...>) {
  return std::array<Apply, sizeof...(kIndex)>{
      [](const Graph& graph) { return apply(graph, kInstructionSets[kIndex].needs); }...};
}
(std::make_index_sequence<kInstructionSets.size()>());

Graph as_it_is(const Graph& graph) {
  return apply(graph, {});
}

}  // namespace

Pass pack_weights(const InstructionSet* isa) {
  return {
      .name = "pack_weights",
      .summary = "weights of projections become panels of 16 interleaved rows",
      .apply = isa ? kApplyFor[static_cast<std::size_t>(isa - kInstructionSets.data())] : as_it_is};
}

}  // namespace weft::cpu
