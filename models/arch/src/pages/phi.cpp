// Phi 1 to 4. 1, 1.5 and 2: layer norms, attention and ffn side by side, GELU. 3 and 4: as Llama
// with rope over halves, LongRoPE, and q, k and v as well as gate and up in one matrix.
// Phi-3.5-MoE: norms with biases, experts. Sources: Li et al. 2023, arXiv:2309.05463; Abdin et al.
// 2024, arXiv:2404.14219. A key phi3.attention.sliding_window has no effect in the engines whose
// files these are, so it has none here.

#include "weft/arch/decoder.h"

namespace weft::arch {
namespace {

Decoder phi2(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = {{.name = "layer",
                     .pre_norm = "attn_norm",
                     .block = side_by_side(Attention{{rope_halves}}, Ffn{act::gelu, false})}}};
}

Decoder phi3(const Hparams& c) {
  return {.rope = {.attrs = c.rope, .factors = true},
          .layer = pre_norm_layer(Attention{{rope_halves}}, Moe{})};
}

Hparams read_moe(const Keys& keys) {
  Hparams c = read_hparams(keys);
  read_experts(keys, c, {.width = ExpertWidth::ffn});
  return c;
}

constexpr HfTensor kTensors[] = {{"self_attn.qkv_proj", "attn_qkv"},
                                 {"mlp.gate_up_proj", "ffn_up"}};
constexpr HfKey kKeys[] = {{"rms_norm_eps", "attention.layer_norm_rms_epsilon", HfKey::Kind::number,
                            HfKey::IfAbsent::use_default, "", 1e-5}};
// Of Phi-4-mini.
constexpr HfSetting kSettings[] = {{"full_attn_mod", {"1"}}, {"interpolate_factor", {"1"}}};

}  // namespace

extern const Architecture kPhi2, kPhi3, kPhiMoe;
constinit const Architecture kPhi2 =
    decoder<phi2, read_usual<HparamsRules{.norm = NormKind::layer}>>("phi2");
constinit const Architecture kPhi3 = decoder<phi3>("phi3", {.types = {"phi3"},
                                                            .tensors = kTensors,
                                                            .keys = kKeys,
                                                            .settings = kSettings,
                                                            .windows = HfWindows::ignored,
                                                            .rope_share = "partial_rotary_factor"});
constinit const Architecture kPhiMoe = decoder<phi3, read_moe>("phimoe");

}  // namespace weft::arch
