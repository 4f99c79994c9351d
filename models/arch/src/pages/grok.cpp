// Grok 1 and 2: scaled embeddings, norms before and after attention and ffn, capped scores, experts
// with GELU, in Grok 2 beside a dense ffn.
// Sources: xAI 2024, https://github.com/xai-org/grok-1; 2025,
// https://huggingface.co/xai-org/grok-2.

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/scale.h"

namespace weft::arch {
namespace {

struct Grok : Hparams {
  float embedding_scale = 0, logits_scale = 0, score_scale = 0, score_cap = 0, logits_cap = 0;
};

// sqrt(1/2) of the sum, if there is a dense part.
Tensor ffn(const Layer& l, Tensor x) {
  const Unit unit = l.w.has("ffn_gate_exps.weight") ? unit::geglu : unit::gelu;
  const Tensor sparse = experts(l, x, router_choice(l, x), unit);
  if (!l.w.has("ffn_up.weight")) return sparse;
  return scale(add(Ffn{act::gelu}(l, x), sparse), 0.70710678f);
}

Decoder grok(const Grok& c) {
  const Attention attention{
      .q_and_k = {rope_halves}, .scale = c.score_scale, .softcap = c.score_cap};
  const auto layer = [=](std::int64_t) -> std::vector<Residual> {
    return {{.name = "attn",
             .pre_norm = "attn_norm",
             .block = attention,
             .post_norm = "attn_output_norm"},
            {.name = "ffn", .pre_norm = "ffn_norm", .block = ffn, .post_norm = "post_ffw_norm"}};
  };
  return {.rope = {.attrs = c.rope},
          .embedding_scale = c.embedding_scale,
          .layer_of = layer,
          .logits_scale = c.logits_scale,
          .logits_cap = c.logits_cap};
}

Grok read(const Keys& keys) {
  Grok c{read_hparams(keys)};
  read_experts(keys, c, {.width = ExpertWidth::own_or_ffn, .required = true});
  const auto number = [&](std::string_view key, float x) { return keys.number_or(key, 0, 1e6, x); };
  c.embedding_scale = number("embedding_scale", 78.38367f);
  c.logits_scale = number("logit_scale", 0.57735027f);
  c.score_scale = number("attention.output_scale", 0.08838835f);
  c.score_cap = number("attn_logit_softcapping", 30);
  c.logits_cap = number("final_logit_softcapping", 0);
  if (c.rope.ext_factor != 0) c.rope.beta_fast = number("rope.scaling.yarn_beta_fast", 8);
  return c;
}

}  // namespace

extern const Architecture kGrok;
constinit const Architecture kGrok = decoder<grok, read>("grok");

}  // namespace weft::arch
