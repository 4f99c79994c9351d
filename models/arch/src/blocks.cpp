#include "weft/arch/blocks.h"

#include <cmath>

#include "weft/ops/get_rows.h"
#include "weft/ops/linear.h"
#include "weft/ops/mul.h"
#include "weft/ops/rms_norm.h"
#include "weft/ops/rope.h"
#include "weft/ops/silu.h"
#include "weft/ops/views.h"

namespace weft {

Tensor project(const Weights& w, std::string_view name, std::int64_t N, std::int64_t K, Tensor x) {
  const std::string base(name);
  return linear(x, w(base + ".weight", {N, K}), w.optional(base + ".bias", {N}));
}

Tensor norm(const Weights& w, std::string_view name, const Hparams& c, Tensor x) {
  return rms_norm(x, w(std::string(name) + ".weight", {x.shape()[-1]}), c.eps);
}

Tensor head(const Weights& w, const Hparams& c, Tensor h, Tensor embd, const Inputs& in) {
  h = get_rows(h, in.out_rows).named("output_rows");  // [O, D]
  Tensor rows = norm(w, "output_norm", c, h);         // [O, D]
  if (in.embeddings) {
    w.ignore("output.weight");
    w.ignore("output.bias");
    return rows;
  }
  if (w.has("output.weight")) return project(w, "output", c.V, c.D, rows);
  return linear(rows, embd, w.optional("output.bias", {c.V})).named("output");
}

Tensor rope_factors(const Weights& w, const Hparams& c, const Inputs& in) {
  const Shape shape{c.rope.n_rot / 2};
  if (c.rope_scaling != RopeScaling::longrope) return w.optional("rope_freqs.weight", shape);
  const bool is_long = in.context > c.rope.original_context;
  w.ignore(is_long ? "rope_factors_short.weight" : "rope_factors_long.weight");
  return w.optional(is_long ? "rope_factors_long.weight" : "rope_factors_short.weight", shape);
}

Tensor norm_heads(const Layer& l, std::string_view name, Tensor x) {
  return norm(l.w, std::string(name) + "_norm", l.c, x);
}

Tensor rope_adjacent(const Layer& l, std::string_view name, Tensor x) {
  return rope(x, l.angles, RopePairs::adjacent).named(std::string(name) + "_rope");
}

Tensor rope_halves(const Layer& l, std::string_view name, Tensor x) {
  return rope(x, l.angles, RopePairs::halves).named(std::string(name) + "_rope");
}

Tensor Attention::operator()(const Layer& l, Tensor x) const {
  const LayerHparams& n = l.hparams();
  const std::int64_t D = l.c.D;
  Tensor q = split_heads(project(l.w, "attn_q", n.H * n.E, D, x), n.H);   // [T, H, E]
  Tensor k = split_heads(project(l.w, "attn_k", n.G * n.E, D, x), n.G);   // [T, G, E]
  Tensor v = split_heads(project(l.w, "attn_v", n.G * n.Ev, D, x), n.G);  // [T, G, Ev]
  for (const HeadStep step : q_and_k) q = step ? step(l, "attn_q", q) : q;
  for (const HeadStep step : q_and_k) k = step ? step(l, "attn_k", k) : k;
  const float factor = scale.value_or(1 / std::sqrt(static_cast<float>(n.E)));
  Tensor y = l.in.memory.attend(l.index, q, k, v, {.scale = factor});  // [T, H, Ev]
  y = merge_heads(y).named("attn_merged");                             // [T, H * Ev]
  return project(l.w, "attn_output", D, n.H * n.Ev, y);                // [T, D]
}

Tensor swiglu(const Layer& l, Tensor x) {
  const std::int64_t D = l.c.D, F = l.hparams().F;
  Tensor gate = project(l.w, "ffn_gate", F, D, x);    // [T, F]
  Tensor up = project(l.w, "ffn_up", F, D, x);        // [T, F]
  Tensor act = mul(silu(gate), up).named("ffn_act");  // [T, F]
  return project(l.w, "ffn_down", D, F, act);         // [T, D]
}

}  // namespace weft
