// Qwen 3, dense: as Qwen 2 without biases, and with an RMS norm over every query and key head
// before rope. Source: Yang et al. 2025, arXiv:2505.09388.

#include "weft/arch/blocks.h"
#include "weft/ops/add.h"
#include "weft/ops/get_rows.h"
#include "weft/ops/rope.h"
#include "weft/ops/views.h"

namespace weft {
namespace {

Tensor attn(const Weights& blk, const Hparams& c, const Inputs& in, std::int64_t layer, Tensor x,
            Tensor angles) {
  auto [q, k, v] = project_heads(blk, c, x);  // [T, H, E], [T, G, E], [T, G, Ev]
  q = rope(norm(blk, "attn_q_norm", c, q), angles, RopePairs::halves).named("attn_q_rope");
  k = rope(norm(blk, "attn_k_norm", c, k), angles, RopePairs::halves).named("attn_k_rope");
  Tensor y = in.memory.attend(layer, q, k, v, {.scale = c.attention_scale});  // [T, H, Ev]
  y = merge_heads(y).named("attn_merged");                                    // [T, H * Ev]
  return project(blk, "attn_output", c.D, c.H * c.Ev, y);                     // [T, D]
}

Tensor build(const Weights& w, const Hparams& c, const Inputs& in) {
  w.ignore("cls.output.weight");  // the classifier of rerankers
  Tensor embd = w("token_embd.weight", {c.V, c.D});
  Tensor angles = rope_angles(in.pos, c.rope);  // [T, R]
  Tensor h = get_rows(embd, in.tokens);         // [T, D]
  for (std::int64_t i = 0; i < c.L; ++i) {
    const Weights blk = w.block(i);
    h = add(h, attn(blk, c, in, i, norm(blk, "attn_norm", c, h), angles)).named("attn_residual");
    h = add(h, swiglu(blk, c, norm(blk, "ffn_norm", c, h))).named("ffn_residual");
  }
  return head(w, c, h, embd, in);  // [O, V]
}

}  // namespace

extern const Architecture kQwen3;
const Architecture kQwen3{.name = "qwen3", .build = build};

}  // namespace weft
