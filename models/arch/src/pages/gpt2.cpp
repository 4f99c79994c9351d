// GPT-2, StarCoder 1 and their like: layer norms with biases, learned positions, GELU, biases
// everywhere. StarCoder shares one key and value head. StarCoder 2 and CodeShell have rope over
// halves in place of the positions. Sources: Radford et al. 2019, "Language Models are Unsupervised
// Multitask Learners"; Li et al. 2023, arXiv:2305.06161; Lozhkov et al. 2024, arXiv:2402.19173; Xie
// et al. 2024, arXiv:2403.15747.

#include "weft/arch/decoder.h"

#include "keys/gelu_key.h"

namespace weft::arch {
namespace {

struct Gpt2 : Hparams {
  Act gelu = act::gelu;
};

Decoder gpt2(const Gpt2& c) {
  return {.positions = "position_embd", .layer = pre_norm_layer(Attention{}, Ffn{c.gelu, false})};
}

Decoder starcoder2(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{rope_halves}}, Ffn{act::gelu, false})};
}

constexpr auto read = read_usual<HparamsRules{.norm = NormKind::layer}>;

Gpt2 read_gpt2(const Keys& keys) {
  return {read(keys), read_gelu(keys)};
}

using Kind = HfKey::Kind;
using IfAbsent = HfKey::IfAbsent;
constexpr auto kTransposed = HfTensor::Stored::transposed;
constexpr HfTensor kGpt2Model[] = {{"wte", "token_embd"},
                                   {"wpe", "position_embd"},
                                   {"ln_f", "output_norm"},
                                   {"lm_head", "output"}};
constexpr HfTensor kGpt2Layer[] = {
    {"ln_1", "attn_norm"},
    {"attn.c_attn", "attn_qkv", kTransposed},
    {"attn.c_proj", "attn_output", kTransposed},
    {"ln_2", "ffn_norm"},
    {"mlp.c_fc", "ffn_up", kTransposed},
    {"mlp.c_proj", "ffn_down", kTransposed},
    {"attn", ""},  // the causal mask
    {"attn.masked_bias", ""},
};
constexpr HfKey kGpt2Keys[] = {
    {"n_positions", "context_length"},
    {"n_embd", "embedding_length"},
    {"n_layer", "block_count"},
    {"n_inner", "feed_forward_length", Kind::count, IfAbsent::multiple_of, "n_embd", 4},
    {"n_head", "attention.head_count"},
    {"n_head", "attention.head_count_kv"},
    {"layer_norm_epsilon", "attention.layer_norm_epsilon", Kind::number, IfAbsent::use_default, "",
     1e-5},
    {"", "attention.layer_norm_rms_epsilon", Kind::none, IfAbsent::use_default},
    gelu_row("activation_function", "gelu_new"),
};
constexpr HfSetting kGpt2Settings[] = {
    {"activation_function", {"\"gelu_new\"", "\"gelu_pytorch_tanh\"", "\"gelu_fast\"", "\"gelu\""}},
    {"scale_attn_by_inverse_layer_idx", {"false"}},
};

constexpr std::string_view kGpt2Ignored[] = {"n_ctx", "n_special", "predict_special_tokens",
                                             "reorder_and_upcast_attn"};

constexpr HfTensor kStarCoder2Layer[] = {{"mlp.c_fc", "ffn_up"}, {"mlp.c_proj", "ffn_down"}};
constexpr HfKey kStarCoder2Keys[] = {
    {"num_key_value_heads", "attention.head_count_kv", Kind::count, IfAbsent::use_default,
     "num_attention_heads", 2},
    {"norm_epsilon", "attention.layer_norm_epsilon", Kind::number, IfAbsent::use_default, "", 1e-5},
    {"", "attention.layer_norm_rms_epsilon", Kind::none, IfAbsent::use_default},
};
constexpr HfSetting kStarCoder2Settings[] = {{"norm_type", {"\"layer_norm\""}},
                                             {"mlp_type", {"\"default\""}}};
// transformers reads other keys in their place.
constexpr std::string_view kStarCoder2Ignored[] = {
    "activation_function", "attention_softmax_in_fp32", "layer_norm_epsilon",
    "scale_attention_softmax_in_fp32"};

}  // namespace

extern const Architecture kGpt2, kStarCoder, kStarCoder2, kCodeShell;
constinit const Architecture kGpt2 = decoder<gpt2, read_gpt2>("gpt2", {.types = {"gpt2"},
                                                                       .tensors = kGpt2Layer,
                                                                       .keys = kGpt2Keys,
                                                                       .model_tensors = kGpt2Model,
                                                                       .prefixes = {"transformer."},
                                                                       .layers = "h.",
                                                                       .settings = kGpt2Settings,
                                                                       .ignored = kGpt2Ignored,
                                                                       .tied = true,
                                                                       .rope = false});
constinit const Architecture kStarCoder = decoder<gpt2, read_gpt2>("starcoder");
constinit const Architecture kStarCoder2 =
    decoder<starcoder2, read>("starcoder2", {.types = {"starcoder2"},
                                             .tensors = kStarCoder2Layer,
                                             .keys = kStarCoder2Keys,
                                             .activations = {"gelu_pytorch_tanh"},
                                             .settings = kStarCoder2Settings,
                                             .ignored = kStarCoder2Ignored,
                                             .windows = HfWindows::ignored,
                                             .tied = true});
constinit const Architecture kCodeShell = decoder<starcoder2, read>("codeshell");

}  // namespace weft::arch
