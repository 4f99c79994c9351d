// Talkie: norms without weights, also over the embeddings and, after rope, over every query and key
// head (queries have one weight per head); every layer adds the normed embeddings again, scaled.
// Source: the metadata and tensors of its GGUF files.

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/positions/rope_angles.h"
#include "weft/ops/rows/get_rows.h"

namespace weft::arch {
namespace {

struct Talkie : Hparams {
  float logits_scale = 1;
};

Tensor norm_after_rope(const Layer& l, std::string_view name, Tensor x) {
  const Tensor y = rms_norm(x, l.c.eps);
  return name == "attn_q" ? mul(y, l.w("attn_q_norm.weight", {l.hparams().H, 1})) : y;
}

Tensor build(const Weights& w, const Talkie& c, const Inputs& in) {
  const Tensor embd = w("token_embd.weight", {c.V, c.D});
  const Tensor angles = rope_angles(in.pos, c.rope);
  const Tensor first = rms_norm(get_rows(embd, in.tokens), c.eps);  // [T, D]
  Tensor h = first;
  for (std::int64_t i = 0; i < c.L; ++i) {
    const Weights blk = w.block(i);
    const Layer l{blk, c, in, i, angles};
    h = add(h, Attention{{rope_halves, norm_after_rope}}(l, rms_norm(h, c.eps)));
    h = add(h, swiglu(l, rms_norm(h, c.eps)));
    h = add(h, mul(first, blk("layer_output_scale.weight", {1})));
  }
  const Tensor out = head(w, c, h, embd, in);
  return in.embeddings ? out : scale(out, c.logits_scale);
}

Talkie read(const Keys& keys) {
  Talkie c{read_usual<>(keys)};
  c.norm_weights = false;
  c.logits_scale = keys.number_or("logit_scale", -1e6, 1e6, 1);
  return c;
}

}  // namespace

extern const Architecture kTalkie;
constinit const Architecture kTalkie = architecture<build, read>("talkie");

}  // namespace weft::arch
