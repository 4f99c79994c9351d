// Qwen 1.5, 2 and 2.5: as Llama, with biases on q, k and v and rope over the halves of a head.
// Source: Yang et al. 2024, arXiv:2407.10671.

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
  q = rope(q, angles, RopePairs::halves).named("attn_q_rope");
  k = rope(k, angles, RopePairs::halves).named("attn_k_rope");
  Tensor y = in.memory.attend(layer, q, k, v, {.scale = c.attention_scale});  // [T, H, Ev]
  y = merge_heads(y).named("attn_merged");                                    // [T, H * Ev]
  return project(blk, "attn_output", c.D, c.H * c.Ev, y);                     // [T, D]
}

Tensor build(const Weights& w, const Hparams& c, const Inputs& in) {
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

extern const Architecture kQwen2;
const Architecture kQwen2{.name = "qwen2", .build = build};

}  // namespace weft
