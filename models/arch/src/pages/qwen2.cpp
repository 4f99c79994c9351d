// Qwen 1.5, 2 and 2.5: as Llama, with biases on q, k and v and rope over the halves of a head. The
// text part of Qwen2-VL and of PaddleOCR-VL: the sections of their rope, which stand for time,
// height and width, all turn with the position of a token of text. The mixtures of experts add the
// shared expert times the sigmoid of a gate. Seed-OSS is the same with another name for its second
// norm. Sources: Yang et al. 2024, arXiv:2407.10671; Wang et al. 2024, arXiv:2409.12191.

#include "weft/arch/decoder.h"

namespace weft::arch {
namespace {

Decoder qwen2(const Hparams& c) {
  return {.rope = {.attrs = c.rope}, .layer = pre_norm_layer(Attention{{rope_halves}}, Moe{})};
}

Decoder seed_oss(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{rope_halves}}, swiglu, "post_attention_norm")};
}

Hparams read_vision(const Keys& keys) {
  Hparams c = read_usual<>(keys);
  read_sections(keys, c, false);
  return c;
}

constexpr HfKey kv_heads(double usual) {
  return {"num_key_value_heads",        "attention.head_count_kv", HfKey::Kind::count,
          HfKey::IfAbsent::use_default, "num_attention_heads",     usual};
}
constexpr HfKey kKeys[] = {kv_heads(32)};
constexpr HfKey kMoeKeys[] = {
    kv_heads(16),
    {"num_local_experts", "expert_count", HfKey::Kind::count,
     HfKey::IfAbsent::omit},  // of newer files
    {"num_experts", "expert_count"},
    {"num_experts_per_tok", "expert_used_count"},
    {"moe_intermediate_size", "expert_feed_forward_length"},
    {"shared_expert_intermediate_size", "expert_shared_feed_forward_length"},
    {"norm_topk_prob", "expert_weights_norm", HfKey::Kind::flag, HfKey::IfAbsent::use_default}};
constexpr HfSetting kMoeSettings[] = {
    {"decoder_sparse_step", {"1"}}, {"mlp_only_layers", {"[]"}}, {"use_sliding_window", {"false"}}};

}  // namespace

extern const Architecture kQwen2, kQwen2Vl, kPaddleOcr, kQwen2Moe, kSeedOss;
constinit const Architecture kQwen2 = decoder<qwen2>(
    "qwen2", {.types = {"qwen2"}, .keys = kKeys, .windows = HfWindows::refused_if_used});
constinit const Architecture kQwen2Vl = decoder<qwen2, read_vision>("qwen2vl");
constinit const Architecture kPaddleOcr = decoder<qwen2, read_vision>("paddleocr");
constinit const Architecture kQwen2Moe =
    decoder<qwen2, read_with_experts<ExpertRules{.normalize = false}>>(
        "qwen2moe", {.types = {"qwen2_moe"},
                     .keys = kMoeKeys,
                     .settings = kMoeSettings,
                     .windows = HfWindows::refused_if_used});
constinit const Architecture kSeedOss = decoder<seed_oss>("seed_oss");

}  // namespace weft::arch
