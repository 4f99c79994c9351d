#include "shard/cut.h"

#include <algorithm>

#include "weft/base/error.h"
#include "weft/ops/cuts.h"

namespace weft::scheduler {
namespace {

bool is_elementwise(const OpDef& op) {
  if (op.map_cols || op.col_granule || op.variadic || op.storage != Storage::fresh) return false;
  return std::ranges::all_of(op.inputs,
                             [](const OpInput& input) { return input.reach == Reach::same; });
}

// Ops may be those of others.
Cuts checked(const Node& node, Cuts cuts) {
  if (cuts && cuts->size() != node.inputs.size())
    fail<Error>("op '{}' has {} inputs at '{}', but gives cuts of {}", node.op->name,
                node.inputs.size(), node.path, cuts->size());
  return cuts;
}

Cuts cuts_as_said(const Graph& graph, const Node& node, const Cut& cut) {
  const auto inputs = node.op->cuts.inputs;
  if (!inputs && !is_elementwise(*node.op)) return std::nullopt;
  const auto say = inputs ? inputs : cut_elementwise;
  return checked(node, say(node.attrs, graph.input_specs(node), node.spec, cut));
}

// Whether the ids of the cut choose the matrices of the node, which are a weight.
bool is_chosen_by(const Graph& graph, const ChosenMatrices& matrices, const Cut& cut) {
  return matrices.weight != kNoNode && graph[matrices.weight].kind == NodeKind::weight &&
         matrices.ids == cut.ids;
}

// Rows [t, k] that are computed one by one: operands with such rows likewise, others whole.
Cuts rows_of_experts(const Graph& graph, const Node& node, const Cut& cut) {
  const Shape& out = node.spec.shape;
  if (out.n_dims() != 3) return std::nullopt;
  const std::int64_t k = out[1].bound;
  if (!cuts_as_said(graph, node, even_cut(1, k, 1, static_cast<int>(k)))) return std::nullopt;
  std::vector<Cut> cuts;
  for (const NodeId id : node.inputs) {
    const bool rows = id != kNoNode && graph[id].op && graph[id].spec.shape.n_dims() == 3 &&
                      graph[id].spec.shape[0] == out[0] && graph[id].spec.shape[1] == out[1];
    cuts.push_back(rows ? cut : Cut{});
  }
  return cuts;
}

}  // namespace

Cut even_cut(int axis, std::int64_t extent, std::int64_t granule, int ranks) {
  Cut cut{.axis = axis, .ends = {}};
  const std::int64_t granules = extent / granule;
  for (int r = 1; r <= ranks; ++r) cut.ends.push_back(granules * r / ranks * granule);
  return cut;
}

Cut cut_by_experts(NodeId ids, std::int64_t n_experts, int ranks) {
  return {.axis = -1, .ends = even_cut(0, n_experts, 1, ranks).ends, .ids = ids};
}

bool says_cuts(const OpDef& op) {
  const OpCuts& cuts = op.cuts;
  return cuts.whole || cuts.inputs || cuts.terms || cuts.linear != LinearIn::none ||
         is_elementwise(op);
}

Cuts cuts_of_inputs(const Graph& graph, const Node& node, const Cut& cut) {
  if (!cut.by_experts()) return cuts_as_said(graph, node, cut);
  const ChosenMatrices matrices = chosen_matrices(node);
  if (matrices.weight == kNoNode) return rows_of_experts(graph, node, cut);
  return is_chosen_by(graph, matrices, cut) ? cuts_as_said(graph, node, cut) : std::nullopt;
}

Attrs attrs_of_part(const Node& node, const Cut& cut, int rank) {
  const auto attrs = node.op->cuts.attrs;
  const bool other_rows = cut.by_experts() && chosen_matrices(node).weight == kNoNode;
  return attrs && !other_rows ? attrs(node.attrs, cut, rank) : node.attrs;
}

Cuts cuts_of_terms(const Graph& graph, const Node& node, const Cut& cut) {
  const auto terms = node.op->cuts.terms;
  if (!terms || (cut.by_experts() && !is_chosen_by(graph, chosen_matrices(node), cut)))
    return std::nullopt;
  return checked(node, terms(node.attrs, graph.input_specs(node), node.spec, cut));
}

bool is_linear_in(const Node& node, const std::vector<bool>& partial) {
  switch (node.op->cuts.linear) {
    case LinearIn::all:
      return std::ranges::all_of(partial, [](bool is) { return is; });
    case LinearIn::first:
      return partial[0] && std::ranges::count(partial, true) == 1;
    case LinearIn::none:
      break;
  }
  return false;
}

}  // namespace weft::scheduler
