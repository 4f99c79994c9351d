// Llama 1 to 3, Mistral, Yi, SmolLM and others with their layout: RMS norms before attention and
// ffn, grouped heads, rope over adjacent pairs, SwiGLU. Sources: Touvron et al. 2023,
// arXiv:2302.13971; Grattafiori et al. 2024, arXiv:2407.21783 (rope_freqs).
// A key llama.attention.scale has no effect in the engines whose files these are, so it has none
// here.

#include "weft/arch/blocks.h"
#include "weft/base/error.h"
#include "weft/ops/add.h"
#include "weft/ops/get_rows.h"
#include "weft/ops/rope.h"
#include "weft/ops/views.h"

namespace weft {
namespace {

Tensor attn(const Weights& blk, const Hparams& c, const Inputs& in, std::int64_t layer, Tensor x,
            Tensor angles) {
  auto [q, k, v] = project_heads(blk, c, x);  // [T, H, E], [T, G, E], [T, G, Ev]
  q = rope(q, angles, RopePairs::adjacent).named("attn_q_rope");
  k = rope(k, angles, RopePairs::adjacent).named("attn_k_rope");
  Tensor y = in.memory.attend(layer, q, k, v, {.scale = c.attention_scale});  // [T, H, Ev]
  y = merge_heads(y).named("attn_merged");                                    // [T, H * Ev]
  return project(blk, "attn_output", c.D, c.H * c.Ev, y);                     // [T, D]
}

Tensor build(const Weights& w, const Hparams& c, const Inputs& in) {
  Tensor embd = w("token_embd.weight", {c.V, c.D});
  Tensor angles = rope_angles(in.pos, c.rope, rope_factors(w, c, in));  // [T, R]
  Tensor h = get_rows(embd, in.tokens);                                 // [T, D]
  for (std::int64_t i = 0; i < c.L; ++i) {
    const Weights blk = w.block(i);
    h = add(h, attn(blk, c, in, i, norm(blk, "attn_norm", c, h), angles)).named("attn_residual");
    h = add(h, swiglu(blk, c, norm(blk, "ffn_norm", c, h))).named("ffn_residual");
  }
  return head(w, c, h, embd, in);  // [O, V]
}

void configure(const ModelSource& source, Hparams& c) {
  if (c.n_experts > 0) {
    fail<UnsupportedError>("{}: mixture of {} experts (llama.expert_count) is not supported",
                           source.file(), c.n_experts);
  }
  if (c.rope.n_rot != c.E) {
    fail<FormatError>(
        "{}: key 'llama.rope.dimension_count' is {}, must be the {} elements of a head",
        source.file(), c.rope.n_rot, c.E);
  }
}

}  // namespace

extern const Architecture kLlama;
const Architecture kLlama{.name = "llama", .build = build, .configure = configure};

}  // namespace weft
