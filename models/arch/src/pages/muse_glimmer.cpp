// Muse Glimmer: normed embeddings, norms before and after attention and ffn, a gate on what
// attention gives, a window and rope in three of four layers and neither in the fourth.
// Source: the metadata and tensors of its GGUF files.

#include "weft/arch/decoder.h"
#include "weft/ops/norms/rms_norm.h"

namespace weft::arch {
namespace {

struct Muse : Hparams {
  float logits_scale = 1, logits_cap = 0;
};

constexpr float kPostEps = 1e-8f;  // epsilon of the norms after a block

Block normed_after(std::string_view name, Block block) {
  return [=](const Layer& l, Tensor x) {
    const Tensor weight = l.w(std::string(name) + ".weight", {l.c.D});
    return rms_norm(block(l, x), weight, kPostEps);
  };
}

Decoder muse(const Muse& c) {
  const Attention attention{.q_and_k = {norm_heads, rope_adjacent}, .output = {gate_by_sigmoid}};
  return {.rope = {.attrs = c.rope},
          .embedding_norm = kNoWeight,
          .layer = pre_norm_layer(normed_after("post_attention_norm", attention),
                                  normed_after("post_ffw_norm", swiglu)),
          .logits_scale = c.logits_scale,
          .logits_cap = c.logits_cap};
}

Muse read(const Keys& keys) {
  Muse c{read_usual<>(keys)};
  read_windows(keys, c, 4);
  rope_in_windows_only(c);
  c.logits_scale = keys.number_or("logit_scale", -1e6, 1e6, 1);
  c.logits_cap = keys.number_or("final_logit_softcapping", 0, 1e6, 30);
  return c;
}

}  // namespace

extern const Architecture kMuseGlimmer;
constinit const Architecture kMuseGlimmer = decoder<muse, read>("muse-glimmer");

}  // namespace weft::arch
