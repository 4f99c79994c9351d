// Command R, Aya and Command R7B/A: layer norms without biases, attention and ffn side by side
// behind one norm, scaled logits. R+ norms every query and key head; Command R7B and A (cohere2)
// see a window in three of four layers, and have rope there alone. Sources: Cohere 2024,
// https://docs.cohere.com/docs/command-r; 2025, arXiv:2504.00698.

#include "weft/arch/decoder.h"

namespace weft {
namespace {

struct Cohere : Hparams {
  float logits_scale = 1;
};

Decoder cohere(const Cohere& c) {
  const Attention attention{{norm_heads_if_present, rope_adjacent}};
  return {
      .rope = {.attrs = c.rope},
      .layer = {{.name = "layer", .before = "attn_norm", .block = side_by_side(attention, swiglu)}},
      .logits_scale = c.logits_scale};
}

Cohere read(const Keys& keys) {
  return {read_usual<{.norm = NormKind::layer}>(keys), keys.number_or("logit_scale", -1e6, 1e6, 1)};
}

Cohere read2(const Keys& keys) {
  Cohere c = read(keys);
  read_windows(keys, c, 4);
  rope_in_windows_only(c);
  return c;
}

}  // namespace

extern const Architecture kCommandR, kCohere2;
constinit const Architecture kCommandR = decoder<cohere, read>("command-r");
constinit const Architecture kCohere2 = decoder<cohere, read2>("cohere2");

}  // namespace weft
