// Gemma 4: as Gemma 3, with wider heads and part of the rope in layers that see everything, norms
// over values, scores that are not scaled, and a factor after every layer. Some models add a vector
// per token and layer, share keys and values between layers, use keys as values, or add experts to
// the ffn. Source: Google DeepMind 2026, https://ai.google.dev/gemma/docs/core.

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/rows/get_rows.h"
#include "weft/ops/rows/views.h"

#include "decoder/layer_inputs.h"
#include "decoder/root.h"

namespace weft::arch {
namespace {

struct Gemma4 : Hparams {
  RopeAttrs local_rope = {};
  float logits_cap = 0;
  std::int64_t P = 0;  // width of the vectors per token and layer; 0: there are none
};

// Without a matrix for values, they are the keys before norm and rope.
Heads heads(const Layer& l, Tensor x) {
  const LayerHparams& n = l.hparams();
  const std::int64_t nk = n.G * n.E;
  if (n.kv_of >= 0 || l.w.has("attn_qkv.weight")) return project_heads(l, x);
  if (l.w.optional("attn_v.weight", {nk, l.c.D})) return project_heads(l, x);
  const Tensor q = project(l.w, "attn_q", n.H * n.E, l.c.D, x);
  const Tensor k = split_heads(project(l.w, "attn_k", nk, l.c.D, x), n.G);
  return {split_heads(q, n.H), k, k};
}

// The router has its own norm of the residual stream.
ExpertChoice choose(const Layer& l, Tensor h) {
  const std::int64_t D = l.c.D;
  const Tensor x = rms_norm(h, l.w("ffn_gate_inp.scale", {D}), l.c.eps);
  const Tensor router = l.w("ffn_gate_inp.weight", {l.c.experts.X, D});
  return choose_experts(l, linear(scale(x, 1 / root(D)), router));
}

Tensor ffn(const Layer& l, Tensor h) {
  const Tensor dense = Ffn{act::gelu}(l, norm(l.w, "ffn_norm", l.c, h));
  if (!l.hparams().experts) return dense;
  const Tensor x = norm(l.w, "pre_ffw_norm_2", l.c, h);
  const Tensor mixed = experts(l, x, choose(l, h), unit::geglu);
  return add(norm(l.w, "post_ffw_norm_1", l.c, dense), norm(l.w, "post_ffw_norm_2", l.c, mixed));
}

Tensor layer(const Layer& l, Tensor h, Tensor inputs) {
  const Attention attention{.q_and_k = {norm_heads, rope_halves},
                            .scale = 1,
                            .heads = heads,
                            .values = norm_heads_unweighted};
  const Tensor y = attention(l, norm(l.w, "attn_norm", l.c, h));
  h = add(h, norm(l.w, "post_attention_norm", l.c, y)).named("attn_residual");
  h = add(h, norm(l.w, "post_ffw_norm", l.c, ffn(l, h))).named("ffn_residual");
  if (inputs) h = add(h, gated_layer_input(l, h, inputs));
  const Tensor factor = l.w.optional("layer_output_scale.weight", {1});
  return factor ? mul(h, factor) : h;
}

Tensor build(const Weights& w, const Gemma4& c, const Inputs& in) {
  const Tensor embd = w("token_embd.weight", {c.V, c.D});
  const Tensor angles = rope_angles(in.pos, c.rope, rope_factors(w, c, in));
  const Tensor local_angles = rope_angles(in.pos, c.local_rope);
  Tensor h = scale(get_rows(embd, in.tokens), root(c.D));
  const Tensor inputs = c.P > 0 ? layer_inputs(w, c, in, c.P, h) : Tensor();
  for (std::int64_t i = 0; i < c.L; ++i) {
    const Weights blk = w.block(i);
    h = layer({blk, c, in, i, c.layer(i).window > 0 ? local_angles : angles}, h, inputs);
  }
  const Tensor out = head(w, c, h, embd, in);
  return in.embeddings || c.logits_cap == 0 ? out : softcap(out, c.logits_cap);
}

Gemma4 read(const Keys& keys) {
  Gemma4 c{read_hparams(keys)};
  read_experts(keys, c);
  read_windows(keys, c, 6);
  read_local_heads(keys, c);
  for (const LayerHparams& n : c.layers) {
    if (n.E != n.Ev) keys.refuse("attention.value_length", n.Ev, "the same as the key length");
  }
  c.local_rope = read_local_rope(keys, c, 10000);
  read_shared_kv(keys, c, 0);
  c.logits_cap = keys.number_or("final_logit_softcapping", 0, 1e6, 0);
  c.P = keys.size_or("embedding_length_per_layer_input", 0, 1 << 16, 0);
  return c;
}

}  // namespace

extern const Architecture kGemma4;
constinit const Architecture kGemma4 = architecture<build, read>("gemma4");

}  // namespace weft::arch
