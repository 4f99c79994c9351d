// Gemma 1 to 3: embeddings scaled by the root of their width, wide heads, rope over halves, GeGLU,
// the output matrix shared with the embeddings. 2 adds norms after attention and ffn, a window in
// every other layer, and caps on scores and logits. 3 has norms over every query and key head in
// place of the caps, a window in five of six layers, and there a rope of its own.
// The "+ 1" of their norms is in the weights of the files.
// Sources: Gemma Team 2024, arXiv:2403.08295; 2024, arXiv:2408.00118; 2025, arXiv:2503.19786.

#include "weft/arch/decoder.h"

#include "root.h"

namespace weft {
namespace {

using arch::root;

struct Gemma : Hparams {
  float score_scale = 0, score_cap = 0, logits_cap = 0;
  RopeAttrs local_rope = {};
};

Decoder gemma(const Gemma& c) {
  return {.rope = {.attrs = c.rope},
          .embedding_scale = root(c.D),
          .layer = pre_norm_layer(Attention{{rope_halves}}, Ffn{act::gelu})};
}

Decoder gemma2(const Gemma& c) {
  const Attention attention{
      .q_and_k = {rope_halves}, .scale = c.score_scale, .softcap = c.score_cap};
  return {.rope = {.attrs = c.rope},
          .embedding_scale = root(c.D),
          .layer = sandwich_norm_layer(attention, Ffn{act::gelu}),
          .logits_cap = c.logits_cap};
}

Decoder gemma3(const Gemma& c) {
  const Attention attention{.q_and_k = {norm_heads, rope_halves}, .scale = c.score_scale};
  return {.rope = {.attrs = c.rope},
          .second_rope = {.attrs = c.local_rope},
          .embedding_scale = root(c.D),
          .layer = sandwich_norm_layer(attention, Ffn{act::gelu}),
          .logits_cap = c.logits_cap};
}

// The 27B models (of `deep` layers) scale scores by the width of a head as if D were shared evenly.
float score_scale(const Hparams& c, std::int64_t deep) {
  const LayerHparams& n = c.layer(0);
  return 1 / root(c.L == deep ? c.D / n.H : n.E);
}

Gemma read(const Keys& keys) {
  return {read_usual<>(keys)};
}

Gemma read2(const Keys& keys) {
  Gemma c{read_usual<>(keys)};
  read_windows(keys, c, 2, {.window = 4096});
  c.score_scale = score_scale(c, 46);
  c.score_cap = keys.number_or("attn_logit_softcapping", 0, 1e6, 50);
  c.logits_cap = keys.number_or("final_logit_softcapping", 0, 1e6, 30);
  return c;
}

Gemma read3(const Keys& keys) {
  Gemma c{read_usual<>(keys)};
  read_windows(keys, c, 6);
  c.score_scale = score_scale(c, 62);
  c.logits_cap = keys.number_or("final_logit_softcapping", 0, 1e6, 0);
  c.local_rope = read_local_rope(keys, c, 10000);
  return c;
}

}  // namespace

extern const Architecture kGemma, kGemma2, kGemma3;
constinit const Architecture kGemma = decoder<gemma, read>("gemma");
constinit const Architecture kGemma2 = decoder<gemma2, read2>("gemma2");
constinit const Architecture kGemma3 = decoder<gemma3, read3>("gemma3");

}  // namespace weft
