// Command R, Aya and Command R7B/A: layer norms without biases, attention and ffn side by side
// behind one norm, scaled logits. R+ norms every query and key head; Command R7B and A (cohere2)
// see a window in three of four layers, and have rope there alone. Sources: Cohere 2024,
// https://docs.cohere.com/docs/command-r; 2025, arXiv:2504.00698.

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/scale.h"

namespace weft::arch {
namespace {

struct Cohere : Hparams {
  float logits_scale = 1;
};

Decoder cohere(const Cohere& c) {
  const Attention attention{{norm_heads_if_present, rope_adjacent}};
  return {.rope = {.attrs = c.rope},
          .layer = {{.name = "layer",
                     .pre_norm = "attn_norm",
                     .block = side_by_side(attention, swiglu)}},
          .logits_scale = c.logits_scale};
}

Cohere read(const Keys& keys) {
  return {read_usual<HparamsRules{.norm = NormKind::layer}>(keys),
          keys.number_or("logit_scale", -1e6, 1e6, 1)};
}

Cohere read2(const Keys& keys) {
  Cohere c = read(keys);
  read_windows(keys, c, 4);
  rope_in_windows_only(c);
  return c;
}

// Experts and the shared one count half each.
Tensor halved_moe(const Layer& l, Tensor x) {
  const Tensor y = Moe{}(l, x);
  return l.hparams().experts && l.c.experts.shared_F > 0 ? scale(y, 0.5f) : y;
}

Decoder cohere2moe(const Cohere& c) {
  return {.rope = {.attrs = c.rope, .factors = true},
          .layer = {{.name = "layer",
                     .pre_norm = "attn_norm",
                     .block = side_by_side(Attention{{rope_adjacent}}, halved_moe)}},
          .logits_scale = c.logits_scale};
}

// The dense first layers and draft layers have rope even if they see everything.
Cohere read_moe(const Keys& keys) {
  const bool rms = keys.find_number("attention.layer_norm_rms_epsilon", 0, 1).has_value();
  Cohere c{read_hparams(keys, {.norm = rms ? NormKind::rms : NormKind::layer})};
  read_experts(keys, c, {.gating = Gating::sigmoid, .normalize = false});
  read_windows(keys, c, 4, {.full_first = true});
  for (std::int64_t i = 0; i < c.L; ++i) {
    LayerHparams& layer = c.layers[static_cast<std::size_t>(i)];
    if (layer.window == 0 && layer.experts) layer.rope = LayerRope::none;
  }
  c.logits_scale = keys.number_or("logit_scale", -1e6, 1e6, 1);
  return c;
}

}  // namespace

extern const Architecture kCommandR, kCohere2, kCohere2Moe, kCohere2MoeOther;
constinit const Architecture kCohere2Moe = decoder<cohere2moe, read_moe>("cohere2moe");
constinit const Architecture kCohere2MoeOther = decoder<cohere2moe, read_moe>("cohere2_moe");
constinit const Architecture kCommandR = decoder<cohere, read>("command-r");
constinit const Architecture kCohere2 = decoder<cohere, read2>("cohere2");

}  // namespace weft::arch
