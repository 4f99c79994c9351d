// DeepSeek V2, V3, R1, Kimi K2, GLM-4.7 Flash and others with their layout: multi-head latent
// attention, dense first layers, then experts in groups and a shared one. Mistral 4 is the same,
// with queries that grow with their position; PLM has an ffn of relu squared, MiniCPM3 SwiGLU and
// scaled residuals; DeepSeek-OCR has plain attention. Sources: DeepSeek-AI 2024, arXiv:2405.04434;
// 2024, arXiv:2412.19437; Deng et al. 2025, arXiv:2503.12167 (PLM);
// https://huggingface.co/openbmb/MiniCPM3-4B; of drafts: vLLM, deepseek_mtp.py.

#include <cmath>

#include "weft/arch/decoder.h"
#include "weft/arch/latent_attention.h"

namespace weft::arch {
namespace {

struct DeepSeek2 : Hparams {
  LatentHparams latent = {};
  float score_scale = 1;
  std::optional<TemperatureAttrs> temperature = {};
};

Decoder deepseek2(const DeepSeek2& c) {
  LatentAttention attention{.n = c.latent, .scale = c.score_scale};
  attention.temperature = c.temperature;
  return {.rope = {.attrs = c.rope, .factors = true},
          .layer = pre_norm_layer(attention, Moe{}),
          .draft = {.next_normed = false}};
}

// Mistral 4 has YaRN, but scores as without it.
// Source: transformers, src/transformers/models/mistral4/modeling_mistral4.py.
template <bool yarn_scores>
DeepSeek2 read(const Keys& keys) {
  DeepSeek2 c{read_hparams(keys)};
  c.latent = read_latent(keys, c);
  read_experts(keys, c, {.normalize = false, .width = ExpertWidth::own_or_ffn});
  c.score_scale = yarn_scores ? read_score_scale(keys, c, c.latent)
                              : 1 / std::sqrt(static_cast<float>(c.latent.E));
  c.temperature = read_temperature(keys, c);
  return c;
}

Decoder ocr(const Hparams& c) {
  return {.rope = {.attrs = c.rope}, .layer = pre_norm_layer(Attention{{rope_halves}}, Moe{})};
}

struct Latent : Hparams {
  LatentHparams latent = {};
};

Decoder plm(const Latent& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(LatentAttention{c.latent}, Ffn{act::relu_squared, false})};
}

Decoder minicpm3(const Latent& c) {
  const LatentAttention attention{.n = c.latent, .rope = rope_halves};
  std::vector<Residual> layer = pre_norm_layer(attention, swiglu);
  for (Residual& r : layer) r.scale = 1.4f / std::sqrt(static_cast<float>(c.L));
  return {.rope = {.attrs = c.rope, .factors = true},
          .embedding_scale = 12,
          .layer = std::move(layer),
          .logits_scale = 256 / static_cast<float>(c.D)};
}

Latent read_latent_dense(const Keys& keys) {
  Latent c{read_usual<>(keys)};
  c.latent = read_latent(keys, c);
  return c;
}

using Stored = HfTensor::Stored;
using Kind = HfKey::Kind;
using IfAbsent = HfKey::IfAbsent;
constexpr HfTensor kTensors[] = {
    {"self_attn.q_a_proj", "attn_q_a"},
    {"self_attn.q_a_layernorm", "attn_q_a_norm"},
    {"self_attn.q_b_proj", "attn_q_b"},
    {"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"},
    {"self_attn.kv_a_layernorm", "attn_kv_a_norm"},
    {"self_attn.kv_b_proj", "attn_k_b", Stored::latent_keys},
    {"self_attn.kv_b_proj", "attn_v_b", Stored::latent_values},
    {"mlp.gate.e_score_correction_bias", "exp_probs_b.bias"},
    {"mlp.shared_experts.gate_proj", "ffn_gate_shexp"},
    {"mlp.shared_experts.up_proj", "ffn_up_shexp"},
    {"mlp.shared_experts.down_proj", "ffn_down_shexp"},
};
constexpr auto kDefault = IfAbsent::use_default;
constexpr HfKey v2(HfKey row, double usual) {
  row.if_absent = kDefault;
  row.value = usual;
  row.type = "deepseek_v2";
  return row;
}
// Keys and values are of the latent attention: one head of both.
constexpr HfKey kKeys[] = {
    {"", "attention.head_count_kv", Kind::count, IfAbsent::use_default, "", 1},
    {.hf_name = "kv_lora_rank", .gguf_name = "attention.key_length", .plus = "qk_rope_head_dim"},
    {"kv_lora_rank", "attention.value_length"},
    {.hf_name = "qk_nope_head_dim",
     .gguf_name = "attention.key_length_mla",
     .plus = "qk_rope_head_dim"},
    {"v_head_dim", "attention.value_length_mla"},
    {"kv_lora_rank", "attention.kv_lora_rank"},
    {"q_lora_rank", "attention.q_lora_rank", Kind::count, IfAbsent::omit},
    {"qk_rope_head_dim", "rope.dimension_count"},
    {"n_routed_experts", "expert_count", Kind::count, IfAbsent::omit},
    {.hf_name = "num_experts_per_tok", .gguf_name = "expert_used_count", .type = "deepseek_v2"},
    {"num_experts_per_tok", "expert_used_count", Kind::count, kDefault, "", 8},
    {"moe_intermediate_size", "expert_feed_forward_length", Kind::count, IfAbsent::omit},
    {"n_shared_experts", "expert_shared_count", Kind::count, IfAbsent::omit},
    v2({"first_k_dense_replace", "leading_dense_block_count"}, 0),
    {"first_k_dense_replace", "leading_dense_block_count", Kind::count, kDefault, "", 3},
    // Of V2, only the method that is not supported has groups.
    v2({"", "expert_group_count", Kind::none}, 0),
    v2({"", "expert_group_used_count", Kind::none}, 0),
    {"n_group", "expert_group_count", Kind::count, kDefault, "", 8},
    {"topk_group", "expert_group_used_count", Kind::count, kDefault, "", 4},
    v2({"routed_scaling_factor", "expert_weights_scale", Kind::number}, 1),
    {"routed_scaling_factor", "expert_weights_scale", Kind::number, kDefault, "", 2.5},
    v2({"norm_topk_prob", "expert_weights_norm", Kind::flag}, 0),
    {"norm_topk_prob", "expert_weights_norm", Kind::flag, kDefault, "", 1},
    v2({"", "expert_gating_func"}, 1),  // softmax
    {"", "expert_gating_func", Kind::count, kDefault, "", 2},
};
// transformers' classes of V2 and V3 have one method each. If V2's sum of weights is normed, the
// published code does not scale it, and transformers' does not norm it.
constexpr HfSetting kSettings[] = {{"topk_method", {"\"greedy\""}, "deepseek_v2"},
                                   {"topk_method", {"\"noaux_tc\""}, "deepseek_v3"},
                                   {"topk_method", {"\"noaux_tc\""}, "kimi_k2"},
                                   {"scoring_func", {"\"softmax\""}, "deepseek_v2"},
                                   {"scoring_func", {"\"sigmoid\""}, "deepseek_v3"},
                                   {"scoring_func", {"\"sigmoid\""}, "kimi_k2"},
                                   {"norm_topk_prob", {"false"}, "deepseek_v2"},
                                   {"moe_layer_freq", {"1"}},
                                   {"is_causal", {"true"}},
                                   {"rope_interleave", {"true"}}};
constexpr std::string_view kIgnored[] = {"aux_loss_alpha",      "ep_size",     "head_dim",
                                         "num_key_value_heads", "qk_head_dim", "seq_aux"};

}  // namespace

extern const Architecture kDeepSeek2, kDeepSeek2Ocr, kMiniCpm3, kMistral4, kPlm;
constinit const Architecture kDeepSeek2 =
    decoder<deepseek2, read<true>>("deepseek2", {.types = {"deepseek_v3", "deepseek_v2", "kimi_k2"},
                                                 .tensors = kTensors,
                                                 .keys = kKeys,
                                                 .settings = kSettings,
                                                 .ignored = kIgnored,
                                                 .latent_yarn = true});
constinit const Architecture kDeepSeek2Ocr =
    decoder<ocr, read_with_experts<ExpertRules{.normalize = false}>>("deepseek2-ocr");
constinit const Architecture kMiniCpm3 = decoder<minicpm3, read_latent_dense>("minicpm3");
constinit const Architecture kMistral4 = decoder<deepseek2, read<false>>("mistral4");
constinit const Architecture kPlm = decoder<plm, read_latent_dense>("plm");

}  // namespace weft::arch
