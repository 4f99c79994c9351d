#include "weft/arch/blocks.h"

#include "weft/ops/get_rows.h"
#include "weft/ops/linear.h"
#include "weft/ops/mul.h"
#include "weft/ops/rms_norm.h"
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

Heads project_heads(const Weights& blk, const Hparams& c, Tensor x) {
  return {.q = split_heads(project(blk, "attn_q", c.H * c.E, c.D, x), c.H),
          .k = split_heads(project(blk, "attn_k", c.G * c.E, c.D, x), c.G),
          .v = split_heads(project(blk, "attn_v", c.G * c.Ev, c.D, x), c.G)};
}

Tensor swiglu(const Weights& blk, const Hparams& c, Tensor x) {
  Tensor gate = project(blk, "ffn_gate", c.F, c.D, x);  // [T, F]
  Tensor up = project(blk, "ffn_up", c.F, c.D, x);      // [T, F]
  Tensor act = mul(silu(gate), up).named("ffn_act");    // [T, F]
  return project(blk, "ffn_down", c.D, c.F, act);       // [T, D]
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

}  // namespace weft
