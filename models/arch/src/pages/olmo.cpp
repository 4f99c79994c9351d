// OLMo 1: layer norms without weights. OLMo 2 and 3: RMS norms only after attention and ffn, and
// over all queries and all keys of a token as one row; 3 sees a window in three of four layers, and
// stretches rope only in the fourth. OpenELM: heads and ffn widths that grow with the depth.
// Sources: Groeneveld et al. 2024, arXiv:2402.00838; OLMo Team 2024, arXiv:2501.00656; Mehta et al.
// 2024, arXiv:2404.14619.

#include "weft/arch/decoder.h"

namespace weft::arch {
namespace {

Decoder olmo(const Hparams& c) {
  return {.rope = {.attrs = c.rope}, .layer = pre_norm_layer(Attention{{rope_adjacent}}, swiglu)};
}

struct Olmo2 : Hparams {
  RopeAttrs local_rope = {};
};

Decoder olmo2(const Olmo2& c) {
  return {.rope = {.attrs = c.rope},
          .second_rope = {.attrs = c.local_rope},
          .layer = {{.name = "attn",
                     .block = Attention{{norm_width, rope_halves}},
                     .post_norm = "post_attention_norm"},
                    {.name = "ffn", .block = swiglu, .post_norm = "post_ffw_norm"}}};
}

Decoder openelm(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{norm_heads, rope_halves}}, swiglu)};
}

Hparams read_olmo(const Keys& keys) {
  Hparams c = read_usual<HparamsRules{.norm = NormKind::layer}>(keys);
  c.norm_weights = false;
  return c;
}

Olmo2 read_olmo2(const Keys& keys) {
  Olmo2 c{read_usual<>(keys)};
  read_windows(keys, c, 4);
  c.local_rope = read_local_rope(keys, c, c.rope.base);
  return c;
}

constexpr HfTensor kTensors[] = {{"self_attn.q_norm", "attn_q_norm"},
                                 {"self_attn.k_norm", "attn_k_norm"},
                                 {"post_attention_layernorm", "post_attention_norm"},
                                 {"post_feedforward_layernorm", "post_ffw_norm"}};
// OLMo 2 has no windows, whatever config.json says.
constexpr HfKey kKeys[] = {{.hf_name = "sliding_window",
                            .gguf_name = "attention.sliding_window",
                            .if_absent = HfKey::IfAbsent::use_default,
                            .value = 4096,
                            .type = "olmo3"},
                           {"rms_norm_eps", "attention.layer_norm_rms_epsilon", HfKey::Kind::number,
                            HfKey::IfAbsent::use_default, "", 1e-5}};
constexpr HfSetting kSettings[] = {{"is_causal", {"true"}}};
constexpr HfAbsent kAbsent[] = {{.type = "olmo3", .rope_base = 500000}};

}  // namespace

extern const Architecture kOlmo, kOlmo2, kOpenElm;
constinit const Architecture kOlmo = decoder<olmo, read_olmo>("olmo");
constinit const Architecture kOlmo2 =
    decoder<olmo2, read_olmo2>("olmo2", {.types = {"olmo2", "olmo3"},
                                         .tensors = kTensors,
                                         .keys = kKeys,
                                         .settings = kSettings,
                                         .windows = HfWindows::by_layer,
                                         .absent = kAbsent});
constinit const Architecture kOpenElm = decoder<openelm>("openelm");

}  // namespace weft::arch
