// GroveMoE: as Qwen 3 with experts, chosen by the sigmoid of the router and weighted by its
// softmax. Neighbouring experts form a group with a smaller expert of their own, which the output
// of the chosen experts passes through. Source: Wu et al. 2025, arXiv:2508.07785.

#include <algorithm>

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/ids/divide_ids.h"
#include "weft/ops/ids/top_k.h"
#include "weft/ops/norms/normalize_sum.h"
#include "weft/ops/norms/softmax.h"
#include "weft/ops/projections/expert_linear.h"
#include "weft/ops/rows/gather.h"
#include "weft/ops/rows/weighted_sum.h"

namespace weft::arch {
namespace {

struct Grove : Hparams {
  std::int64_t group_size = 1, group_F = 0;  // experts of a group, ffn width of its own expert
  float group_scale = 0;
};

// As in the files' engines, the weight of a group is that of the expert with the number of the
// group.
Tensor group_experts(const Layer& l, Tensor x, Tensor scores, Tensor probabilities) {
  const auto& c = l.config<Grove>();
  const std::int64_t n = c.experts.X / c.group_size;
  const auto k = static_cast<std::int32_t>(std::min(c.experts.K, n));
  const Tensor ids = divide_ids(top_k(scores, {.k = k}), static_cast<std::int32_t>(c.group_size));
  const auto product = [&](std::string_view name, std::int64_t N, std::int64_t K, Tensor y) {
    return expert_linear(y, l.w(std::string(name) + ".weight", {n, N, K}), ids);
  };
  const Tensor gate = product("ffn_gate_chexps", c.group_F, c.D, x);
  const Tensor up = product("ffn_up_chexps", c.group_F, c.D, x);
  const Tensor y = product("ffn_down_chexps", c.D, c.group_F, unit::swiglu(l, gate, up));
  const Tensor weights = normalize_sum(gather(probabilities, ids));
  return weighted_sum(y, c.experts.scale == 1 ? weights : scale(weights, c.experts.scale));
}

Tensor ffn(const Layer& l, Tensor x) {
  const auto& c = l.config<Grove>();
  const ExpertHparams& e = c.experts;
  const Tensor logits = project(l.w, "ffn_gate_inp", e.X, c.D, x);
  const Tensor scores = act::sigmoid(logits), probabilities = softmax(logits);
  const Tensor ids = top_k(scores, {.k = static_cast<std::int32_t>(e.K)});
  const Tensor weights = normalize_sum(gather(probabilities, ids));
  const Tensor y =
      experts(l, x, {ids, e.scale == 1 ? weights : scale(weights, e.scale), x}, unit::swiglu);
  return add(y, scale(group_experts(l, y, scores, probabilities), c.group_scale));
}

Decoder grovemoe(const Grove& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{norm_heads, rope_halves}}, ffn)};
}

Grove read(const Keys& keys) {
  Grove c{read_hparams(keys, {.min_F = 0})};
  read_experts(keys, c, {.required = true});
  const std::int64_t X = c.experts.X;
  if (c.experts.n_groups > 1) keys.refuse("expert_group_count", c.experts.n_groups, "1");
  c.group_size = keys.count("experts_per_group", X);
  if (X % c.group_size != 0)
    keys.refuse("experts_per_group", c.group_size, fmt::format("a divisor of {} experts", X));
  c.group_F = keys.count_or("expert_chunk_feed_forward_length", 1 << 24, c.layer(0).E);
  c.group_scale = keys.number("expert_group_scale", -1e6, 1e6);
  return c;
}

}  // namespace

extern const Architecture kGroveMoe;
constinit const Architecture kGroveMoe = decoder<grovemoe, read>("grovemoe");

}  // namespace weft::arch
