// Qwen 3: as Qwen 2 without biases, and with an RMS norm over every query and key head before rope;
// dense or with experts, and the text part of Qwen3-VL.
// Source: Yang et al. 2025, arXiv:2505.09388.

#include "weft/arch/decoder.h"

namespace weft::arch {
namespace {

Decoder qwen3(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{norm_heads, rope_halves}}, Moe{})};
}

Hparams read_vision(const Keys& keys) {
  Hparams c = read_usual<>(keys);
  read_sections(keys, c, true);
  return c;
}

Hparams read_vision_moe(const Keys& keys) {
  Hparams c = read_with_experts<>(keys);
  read_sections(keys, c, true);
  return c;
}

constexpr HfTensor kTensors[] = {{"self_attn.q_norm", "attn_q_norm"},
                                 {"self_attn.k_norm", "attn_k_norm"}};
using Kind = HfKey::Kind;
using IfAbsent = HfKey::IfAbsent;
constexpr HfKey kv_heads(double usual) {
  return {"num_key_value_heads", "attention.head_count_kv", Kind::count,
          IfAbsent::use_default, "num_attention_heads",     usual};
}
constexpr HfKey kKeys[] = {
    kv_heads(32),
    {"head_dim", "attention.key_length", Kind::count, IfAbsent::use_default, "", 128},
    {"head_dim", "attention.value_length", Kind::count, IfAbsent::use_default, "", 128}};
constexpr HfKey kMoeKeys[] = {
    kv_heads(4),
    {"num_local_experts", "expert_count", Kind::count, IfAbsent::omit},  // of newer files
    {"num_experts", "expert_count"},
    {"num_experts_per_tok", "expert_used_count"},
    {"moe_intermediate_size", "expert_feed_forward_length"},
    {"norm_topk_prob", "expert_weights_norm", Kind::flag, IfAbsent::use_default}};
constexpr HfSetting kSettings[] = {{"use_qk_norm", {"true"}}};
constexpr HfSetting kMoeSettings[] = {{"decoder_sparse_step", {"1"}},
                                      {"mlp_only_layers", {"[]"}},
                                      {"shared_expert_intermediate_size", {"0"}},
                                      {"use_sliding_window", {"false"}},
                                      {"use_qk_norm", {"true"}}};

}  // namespace

extern const Architecture kQwen3, kQwen3Vl, kQwen3Moe, kQwen3VlMoe;
constinit const Architecture kQwen3 =
    decoder<qwen3>("qwen3", {.types = {"qwen3"},
                             .tensors = kTensors,
                             .keys = kKeys,
                             .settings = kSettings,
                             .windows = HfWindows::refused_if_used});
constinit const Architecture kQwen3Vl = decoder<qwen3, read_vision>("qwen3vl");
constinit const Architecture kQwen3Moe =
    decoder<qwen3, read_with_experts<>>("qwen3moe", {.types = {"qwen3_moe"},
                                                     .tensors = kTensors,
                                                     .keys = kMoeKeys,
                                                     .settings = kMoeSettings,
                                                     .windows = HfWindows::refused_if_used});
constinit const Architecture kQwen3VlMoe = decoder<qwen3, read_vision_moe>("qwen3vlmoe");

}  // namespace weft::arch
