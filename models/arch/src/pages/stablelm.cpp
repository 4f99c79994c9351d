// StableLM: layer norms, rope over halves of a part of each head, SwiGLU. Files without ffn_norm
// have attention and ffn side by side behind one norm; some norm every query and key head. Source:
// Bellagente et al. 2024, arXiv:2402.17834.

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/add.h"

namespace weft::arch {
namespace {

// x + attention + ffn, the latter of what the former makes of x unless there is one norm for both.
Tensor layer(const Layer& l, Tensor x) {
  const Attention attention{{norm_heads_if_present, rope_halves}};
  const Tensor normed = norm(l.w, "attn_norm", l.c, x);
  const Tensor y = attention(l, normed);
  if (!l.w.has("ffn_norm.weight")) return add(y, swiglu(l, normed));
  return add(y, swiglu(l, norm(l.w, "ffn_norm", l.c, add(x, y))));
}

Decoder stablelm(const Hparams& c) {
  return {.rope = {.attrs = c.rope}, .layer = {{.name = "layer", .block = layer}}};
}

}  // namespace

extern const Architecture kStableLm;
constinit const Architecture kStableLm =
    decoder<stablelm, read_usual<HparamsRules{.norm = NormKind::layer}>>("stablelm");

}  // namespace weft::arch
