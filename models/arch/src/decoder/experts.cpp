// Mixtures of experts: routers, their experts, and the one that all tokens share.
#include <algorithm>

#include "weft/arch/blocks.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/elementwise/sigmoid.h"
#include "weft/ops/elementwise/softplus.h"
#include "weft/ops/elementwise/sqrt.h"
#include "weft/ops/ids/top_k.h"
#include "weft/ops/norms/normalize_sum.h"
#include "weft/ops/norms/softmax.h"
#include "weft/ops/projections/expert_linear.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/rows/gather.h"
#include "weft/ops/rows/get_rows.h"
#include "weft/ops/rows/scale_heads.h"
#include "weft/ops/rows/slice_heads.h"
#include "weft/ops/rows/views.h"
#include "weft/ops/rows/weighted_sum.h"

namespace weft::arch {
namespace {

Tensor gate(Gating gating, Tensor logits) {
  switch (gating) {
    case Gating::softmax:
      return softmax(logits);
    case Gating::sigmoid:
      return sigmoid(logits);
    case Gating::sqrt_softplus:
      return sqrt(softplus(logits));
    case Gating::softmax_of_chosen:
      break;
  }
  return logits;
}

// The weights of the chosen experts, by the probabilities of all.
ExpertChoice weigh(const ExpertHparams& e, Tensor probabilities, Tensor ids) {
  Tensor weights = gather(probabilities, ids);  // [T, K]
  if (e.gating == Gating::softmax_of_chosen) weights = softmax(weights);
  if (e.normalize) weights = normalize_sum(weights);
  if (e.scale != 1) weights = scale(weights, e.scale);
  return {ids, weights};
}

// The weight [width] that an input of the node is; kNoNode: none is.
NodeId vector_of(const Graph& graph, const Node& node, std::int64_t width) {
  const auto is_vector = [&](NodeId id) {
    return id != kNoNode && graph[id].kind == NodeKind::weight &&
           graph[id].spec.shape == Shape{width};
  };
  const auto found = std::ranges::find_if(node.inputs, is_vector);
  return found == node.inputs.end() ? kNoNode : *found;
}

// The weight of the norm whose result x is, before a bias if there is one. Norms are named after
// their weight. No tensor: x is something else.
Tensor norm_weight_of(Tensor x) {
  const Graph& graph = x.graph();
  const Node* node = &graph[x.id()];
  for (int i = 0; i < 2 && node->op; ++i, node = &graph[node->inputs[0]]) {
    const NodeId weight = vector_of(graph, *node, x.shape().last());
    if (weight == kNoNode) break;
    if (graph[weight].path == node->path + ".weight") return {&x.graph(), weight};
  }
  return {};
}

}  // namespace

Tensor project_experts(const Layer& l, std::string_view name, std::int64_t N, Tensor x,
                       Tensor ids) {
  const ExpertHparams& e = l.c.experts;
  const std::string base(name);
  l.w.ignore(base + ".input_scale");
  Tensor y = expert_linear(x, l.w(base + ".weight", {e.X, N, x.shape()[-1].bound}), ids);
  const Tensor factors = l.w.optional(base + ".scale", {e.X});
  if (factors) y = scale_heads(y, gather(factors, ids));
  const Tensor bias = l.w.optional(base + ".bias", {e.X, N});
  return bias ? add(y, get_rows(bias, ids)) : y;
}

ExpertChoice router_choice(const Layer& l, Tensor x) {
  ExpertChoice choice = choose_experts(l, project(l.w, "ffn_gate_inp", l.c.experts.X, l.c.D, x));
  choice.x = x;
  return choice;
}

void name_router(const Layer& l, Tensor ids, Tensor x) {
  const Tensor norm = norm_weight_of(x);
  if (!norm) return;
  x.graph().add_router(ids, l.w("ffn_gate_inp.weight", {l.c.experts.X, l.c.D}), norm);
}

ExpertChoice choose_experts(const Layer& l, Tensor logits) {
  const ExpertHparams& e = l.c.experts;
  const auto k = static_cast<std::int32_t>(e.K);
  Tensor probabilities = gate(e.gating, logits);  // [T, X]
  const std::string_view bias = l.w.has("exp_probs_b") ? "exp_probs_b" : "exp_probs_b.bias";
  Tensor ids = top_k(probabilities,
                     {.k = k,
                      .n_groups = static_cast<std::int32_t>(e.n_groups),
                      .used_groups = static_cast<std::int32_t>(e.used_groups)},
                     l.w.optional(bias, {e.X}));
  return weigh(e, probabilities, ids);
}

ExpertChoice weigh_experts(const Layer& l, Tensor logits, Tensor ids) {
  return weigh(l.c.experts, gate(l.c.experts.gating, logits), ids);
}

GateUp project_experts_gate_up(const Layer& l, Tensor x, Tensor ids, bool gated) {
  const std::int64_t F = l.c.experts.F;
  if (gated && l.w.has("ffn_gate_up_exps.weight")) {
    const Tensor both = project_experts(l, "ffn_gate_up_exps", 2 * F, x, ids);
    return {slice_heads(both, 0, F), slice_heads(both, F, 2 * F)};
  }
  const Tensor gate = gated ? project_experts(l, "ffn_gate_exps", F, x, ids) : Tensor();
  return {gate, project_experts(l, "ffn_up_exps", F, x, ids)};
}

Tensor experts(const Layer& l, Tensor x, const ExpertChoice& choice, const Unit& unit) {
  const auto [gate, up] = project_experts_gate_up(l, x, choice.ids, unit.gated);
  Tensor y = unit(l, gate, up);  // [T, K, F]
  y = project_experts(l, "ffn_down_exps", x.shape()[1].bound, y, choice.ids);
  if (choice.x.id() == x.id()) name_router(l, choice.ids, x);
  return weighted_sum(y, choice.weights);  // [T, D]
}

Tensor shared_expert(const Layer& l, Tensor x, const Unit& unit) {
  const std::int64_t D = l.c.D, F = l.c.experts.shared_F;
  Tensor gate = project(l.w, "ffn_gate_shexp", F, D, x);
  Tensor up = project(l.w, "ffn_up_shexp", F, D, x);
  Tensor y = project(l.w, "ffn_down_shexp", D, F, unit(l, gate, up));
  const Tensor gate_row = l.w.optional("ffn_gate_inp_shexp.weight", {D});
  if (!gate_row) return y;
  Tensor share = sigmoid(linear(x, merge_heads(gate_row)));  // [T, 1]
  return weighted_sum(split_heads(y, 1), share);
}

Tensor limited_experts(const Layer& l, Tensor x) {
  Tensor y = experts(l, x, router_choice(l, x), unit::limited_swiglu);
  return l.c.experts.shared_F > 0 ? add(y, shared_expert(l, x, unit::limited_shared_swiglu)) : y;
}

Tensor Moe::operator()(const Layer& l, Tensor x) const {
  if (!l.hparams().experts) return dense(l, x);
  Tensor y = experts(l, x, router_choice(l, x), unit);
  return l.c.experts.shared_F > 0 ? add(y, shared_expert(l, x, unit)) : y;
}

}  // namespace weft::arch
