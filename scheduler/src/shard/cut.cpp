#include "shard/cut.h"

#include <algorithm>

#include "weft/ops/attention/attention.h"
#include "weft/ops/attention/cache_write.h"
#include "weft/ops/attention/chosen_attention.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/norms/layer_norm.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/positions/rope.h"
#include "weft/ops/projections/expert_linear.h"
#include "weft/ops/projections/head_linear.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/rows/concat_heads.h"
#include "weft/ops/rows/repeat_heads.h"
#include "weft/ops/rows/scale_heads.h"
#include "weft/ops/rows/slice_heads.h"
#include "weft/ops/rows/views.h"
#include "weft/ops/rows/weighted_sum.h"

namespace weft::scheduler {
namespace {

using Cuts = std::optional<std::vector<Cut>>;

// The same places in another dimension.
Cut moved(const Cut& cut, int axis) {
  return {.axis = axis, .ends = cut.ends};
}

// The same cut of another dimension, which is `times` / `over` as long. None: it does not fall
// between elements.
std::optional<Cut> scaled(const Cut& cut, int axis, std::int64_t times, std::int64_t over) {
  Cut result = moved(cut, axis);
  for (std::int64_t& end : result.ends) {
    if (end * times % over != 0) return std::nullopt;
    end = end * times / over;
  }
  return result;
}

// An operand has the output's shape, or is repeated for its rows, heads or elements.
std::optional<Cut> cut_of_operand(const Shape& operand, const Shape& out, const Cut& cut) {
  if (operand == out) return cut;
  const std::int64_t extent = cut.ends.back();
  const bool last = cut.axis == out.n_dims() - 1;
  if (operand.n_dims() == 1) {
    if (operand[0].bound == 1 || !last) return Cut{};
    return operand[0].bound == extent ? std::optional(moved(cut, 0)) : std::nullopt;
  }
  if (operand.n_dims() != 2 || out.n_dims() != 3 || operand[0].varies()) return std::nullopt;
  if (cut.axis == 1) return moved(cut, 0);
  return operand[1].bound == extent ? moved(cut, 1) : Cut{};
}

bool is_elementwise(const Node& node) {
  const OpDef& op = *node.op;
  if (op.map_cols || op.col_granule || op.variadic || op.storage != Storage::fresh) return false;
  return std::ranges::all_of(op.inputs,
                             [](const OpInput& input) { return input.reach == Reach::same; });
}

Cuts elementwise(const Graph& graph, const Node& node, const Cut& cut) {
  std::vector<Cut> cuts;
  for (const NodeId id : node.inputs) {
    const auto operand =
        id == kNoNode ? Cut{} : cut_of_operand(graph[id].spec.shape, node.spec.shape, cut);
    if (!operand) return std::nullopt;
    cuts.push_back(*operand);
  }
  return cuts;
}

// Columns that are cut at the same places, in another shape.
Cuts reshape(const Graph& graph, const Node& node, const Cut& cut) {
  const Shape &from = graph[node.inputs[0]].spec.shape, &to = node.spec.shape;
  if (cut.axis != 1 || from.n_dims() < 2 || from[0] != to[0]) return std::nullopt;
  const std::int64_t times = to.cols() / to[1].bound, over = from.cols() / from[1].bound;
  const auto same = scaled(cut, 1, times, over);
  return same ? Cuts({*same}) : std::nullopt;
}

// Ops that compute each head, or row [t, k], on its own.
bool is_by_heads(const Node& node) {
  return node.op == &kRope || node.op == &kRmsNorm || node.op == &kLayerNorm ||
         node.op == &kSliceHeads || node.op == &kConcatHeads;
}

// Heads, of which each is computed on its own: the first input by heads, the others by heads if
// they have them, else whole.
Cuts by_heads(const Graph& graph, const Node& node, const Cut& cut) {
  if (cut.axis != 1 || node.spec.shape.n_dims() != 3) return std::nullopt;
  std::vector<Cut> cuts{cut};
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    const NodeId id = node.inputs[i];
    const bool heads = id != kNoNode && graph[id].spec.shape.n_dims() == 3 &&
                       graph[id].spec.shape[1].bound == cut.ends.back();
    cuts.push_back(heads ? cut : Cut{});
  }
  return cuts;
}

Cuts repeat_heads(const Graph& graph, const Node& node, const Cut& cut) {
  if (cut.axis != 1) return std::nullopt;
  const auto groups =
      scaled(cut, 1, graph[node.inputs[0]].spec.shape[1].bound, node.spec.shape[1].bound);
  return groups ? Cuts({*groups}) : std::nullopt;
}

// Whole groups of query heads with their keys and values; one group is shared by all ranks.
Cuts attention(const Graph& graph, const Node& node, const Cut& cut) {
  if (cut.axis != 1) return std::nullopt;
  if (node.op == &kBiasedAttention && node.attrs.as<BiasedAttentionAttrs>().alibi != 0)
    return std::nullopt;
  std::vector<Cut> cuts(node.inputs.size());
  cuts[0] = cut;
  const std::int64_t groups = graph[node.inputs[1]].spec.shape[1].bound;
  if (groups > 1) {
    const auto by_group = scaled(cut, 1, groups, node.spec.shape[1].bound);
    if (!by_group) return std::nullopt;
    cuts[1] = cuts[2] = *by_group;
  }
  const bool chosen = node.op == &kChosenAttention;
  if (chosen && graph[node.inputs[7]].spec.shape[1].bound != 1) return std::nullopt;
  const auto use = [&](std::size_t input, int axis) {
    if (input < node.inputs.size() && node.inputs[input] != kNoNode) cuts[input] = moved(cut, axis);
  };
  use(8, 0);               // sinks
  if (!chosen) use(9, 1);  // distances
  return cuts;
}

Cuts cache_write(const Cut& cut) {
  return cut.axis == 1 ? Cuts({cut, cut, Cut{}}) : std::nullopt;
}

Cuts linear(const Node& node, const Cut& cut) {
  if (cut.axis != 1) return std::nullopt;
  std::vector<Cut> cuts{Cut{}, moved(cut, 0), Cut{}, Cut{}};
  if (node.inputs[2] != kNoNode) cuts[2] = moved(cut, 0);
  if (node.inputs[3] != kNoNode) cuts[3] = cut;
  return cuts;
}

// The matrices of a rank's experts. Their results are zeros in the rows of other experts.
Cuts experts(const Graph& graph, const Node& node, const Cut& cut) {
  const bool all = node.attrs.as<ExpertLinearAttrs>().all == 0;
  const Node& w = graph[node.inputs[1]];
  if (!all || w.kind != NodeKind::weight || w.spec.shape[0].bound != cut.ends.back() ||
      node.inputs[2] != cut.ids)
    return std::nullopt;
  const bool each = graph[node.inputs[0]].spec.shape.n_dims() == 3;
  return Cuts({each ? cut : Cut{}, moved(cut, 0), Cut{}});
}

// Rows [t, k] that are computed one by one: operands with such rows likewise, others whole.
Cuts rows_of_experts(const Graph& graph, const Node& node, const Cut& cut) {
  if (!is_by_heads(node) && node.op != &kScaleHeads && !is_elementwise(node)) return std::nullopt;
  const Shape& out = node.spec.shape;
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

Cuts cuts_of_inputs(const Graph& graph, const Node& node, const Cut& cut) {
  const OpDef* op = node.op;
  if (cut.by_experts())
    return op == &kExpertLinear ? experts(graph, node, cut) : rows_of_experts(graph, node, cut);
  if (op == &kReshape) return reshape(graph, node, cut);
  if (op == &kLinear) return linear(node, cut);
  if (op == &kExpertLinear)
    return cut.axis == 2 ? Cuts({Cut{}, moved(cut, 1), Cut{}}) : std::nullopt;
  if (op == &kHeadLinear) return cut.axis == 1 ? Cuts({cut, moved(cut, 0)}) : std::nullopt;
  if (op == &kAttention || op == &kBiasedAttention || op == &kChosenAttention)
    return attention(graph, node, cut);
  if (op == &kCacheWrite) return cache_write(cut);
  if (op == &kRepeatHeads) return repeat_heads(graph, node, cut);
  if (op == &kScaleHeads) return cut.axis == 1 ? Cuts({cut, cut}) : std::nullopt;
  if (is_by_heads(node)) return by_heads(graph, node, cut);
  return is_elementwise(node) ? elementwise(graph, node, cut) : std::nullopt;
}

Attrs attrs_of_part(const Node& node, const Cut& cut, int rank) {
  if (node.op == &kRepeatHeads) return RepeatHeadsAttrs{cut.width(rank)};
  if (node.op == &kExpertLinear && cut.by_experts())
    return ExpertLinearAttrs{.first = cut.begin(rank), .all = cut.ends.back()};
  return node.attrs;
}

Cuts cuts_of_terms(const Graph& graph, const Node& node, const Cut& cut) {
  if (node.op == &kLinear) {
    if (cut.axis != 1) return std::nullopt;
    return std::vector<Cut>{cut, moved(cut, 1), Cut{}, Cut{}};
  }
  if (node.op == &kExpertLinear) {
    if (cut.by_experts()) return experts(graph, node, cut);
    if (cut.axis != graph[node.inputs[0]].spec.shape.n_dims() - 1) return std::nullopt;
    return std::vector<Cut>{cut, moved(cut, 2), Cut{}};
  }
  return std::nullopt;
}

bool is_linear_in(const Node& node, const std::vector<bool>& partial) {
  if (node.op == &kAdd) return partial[0] && partial[1];
  if (node.op == &kMul || node.op == &kWeightedSum || node.op == &kScaleHeads)
    return partial[0] && !partial[1];
  return (node.op == &kScale || node.op == &kReshape) && partial[0];
}

}  // namespace weft::scheduler
