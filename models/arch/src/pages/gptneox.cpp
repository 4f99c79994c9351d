// GPT-NeoX, Pythia, Dolly: layer norms with biases, rope over halves of a part of each head, GELU;
// attention and ffn side by side, each behind its own norm, if the file says so. Falcon: the same
// without biases of matrices; its 7B model has one norm for both.
// GELU is exact if the file says so: transformers' "gelu" is.
// Sources: Black et al. 2022, arXiv:2204.06745; Almazrouei et al. 2023, arXiv:2311.16867.

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/add.h"

#include "keys/gelu_key.h"

namespace weft::arch {
namespace {

struct NeoX : Hparams {
  Act gelu = act::gelu;
  bool parallel = true;
};

Decoder gptneox(const NeoX& c) {
  const Attention attention{{rope_halves}};
  const Ffn ffn{c.gelu, false};
  const std::vector<Residual> parallel{
      {.name = "layer",
       .block = side_by_side(normed("attn_norm", attention), normed("ffn_norm", ffn))}};
  return {.rope = {.attrs = c.rope},
          .layer = c.parallel ? parallel : pre_norm_layer(attention, ffn)};
}

NeoX read_neox(const Keys& keys) {
  return {read_usual<HparamsRules{.norm = NormKind::layer}>(keys), read_gelu(keys),
          keys.flag_or("use_parallel_residual", true)};
}

struct Falcon : Hparams {
  Act gelu = act::gelu;
};

Falcon read_falcon(const Keys& keys) {
  return {read_usual<HparamsRules{.norm = NormKind::layer}>(keys), read_gelu(keys)};
}

// With two norms, attention takes the second.
Tensor falcon_layer(const Layer& l, Act gelu, Tensor x) {
  const Attention attention{{rope_halves}};
  const Tensor first = norm(l.w, "attn_norm", l.c, x);
  const Tensor second = l.w.has("attn_norm_2.weight") ? norm(l.w, "attn_norm_2", l.c, x) : first;
  return add(attention(l, second), Ffn{gelu, false}(l, first));
}

Decoder falcon(const Falcon& c) {
  const auto block = [gelu = c.gelu](const Layer& l, Tensor x) { return falcon_layer(l, gelu, x); };
  return {.rope = {.attrs = c.rope}, .layer = {{.name = "layer", .block = block}}};
}

using Kind = HfKey::Kind;
using IfAbsent = HfKey::IfAbsent;
constexpr auto kByGroup = HfTensor::Stored::qkv_by_group;
constexpr HfTensor kNeoXModel[] = {
    {"embed_in", "token_embd"}, {"final_layer_norm", "output_norm"}, {"embed_out", "output"}};
constexpr HfTensor kNeoXLayer[] = {
    {"attention.query_key_value", "attn_qkv", kByGroup},
    {"attention.dense", "attn_output"},
    {"mlp.dense_h_to_4h", "ffn_up"},
    {"mlp.dense_4h_to_h", "ffn_down"},
    {"attention", ""},  // the causal mask
    {"attention.masked_bias", ""},
};
constexpr HfKey kNeoXKeys[] = {
    {"layer_norm_eps", "attention.layer_norm_epsilon", Kind::number, IfAbsent::use_default, "",
     1e-5},
    {"", "attention.layer_norm_rms_epsilon", Kind::none, IfAbsent::use_default},
    {"use_parallel_residual", "use_parallel_residual", Kind::flag, IfAbsent::use_default, "", 1},
    {"rotary_emb_base", "rope.freq_base", Kind::number, IfAbsent::omit},
    gelu_row("hidden_act"),
};

constexpr HfTensor kFalconModel[] = {
    {"word_embeddings", "token_embd"}, {"ln_f", "output_norm"}, {"lm_head", "output"}};
constexpr HfTensor kFalconLayer[] = {
    {"input_layernorm", "attn_norm"},
    {"ln_mlp", "attn_norm"},
    {"ln_attn", "attn_norm_2"},
    {"self_attention.query_key_value", "attn_qkv", kByGroup},
    {"self_attention.dense", "attn_output"},
    {"mlp.dense_h_to_4h", "ffn_up"},
    {"mlp.dense_4h_to_h", "ffn_down"},
};
// Old models have one key head for all queries, whatever num_kv_heads says.
constexpr HfKey kFalconKeys[] = {
    {"max_position_embeddings", "context_length", Kind::count, IfAbsent::use_default, "", 2048},
    {"n_layer", "block_count", Kind::count, IfAbsent::omit},
    {"n_head", "attention.head_count", Kind::count, IfAbsent::omit},
    {"ffn_hidden_size", "feed_forward_length", Kind::count, IfAbsent::multiple_of, "hidden_size",
     4},
    {.hf_name = "n_head_kv",
     .gguf_name = "attention.head_count_kv",
     .if_absent = IfAbsent::omit,
     .type = "RefinedWeb"},
    {.hf_name = "n_head_kv",
     .gguf_name = "attention.head_count_kv",
     .if_absent = IfAbsent::omit,
     .when = "new_decoder_architecture"},
    {.hf_name = "num_kv_heads",
     .gguf_name = "attention.head_count_kv",
     .if_absent = IfAbsent::same_as,
     .other = "num_attention_heads",
     .when = "new_decoder_architecture"},
    {.hf_name = "",
     .gguf_name = "attention.head_count_kv",
     .if_absent = IfAbsent::use_default,
     .value = 1,
     .when = "multi_query",
     .when_absent = true},
    {"n_head", "attention.head_count_kv", Kind::count, IfAbsent::omit},
    {"num_attention_heads", "attention.head_count_kv"},
    {"layer_norm_epsilon", "attention.layer_norm_epsilon", Kind::number, IfAbsent::use_default, "",
     1e-5},
    {"", "attention.layer_norm_rms_epsilon", Kind::none, IfAbsent::use_default},
    gelu_row("activation"),
};
constexpr HfSetting kFalconSettings[] = {
    {"alibi", {"false"}},
    {"bias", {"false"}},
    {"parallel_attn", {"true"}},
    {"activation", {"\"gelu\"", "\"gelu_new\"", "\"gelu_fast\"", "\"gelu_pytorch_tanh\""}},
    {"rotary", {"true"}},
    {"apply_residual_connection_post_layernorm", {"false"}}};
constexpr std::string_view kFalconIgnored[] = {"num_ln_in_parallel_attn"};  // the tensors show it

}  // namespace

extern const Architecture kGptNeoX, kFalcon;
constinit const Architecture kGptNeoX = decoder<gptneox, read_neox>(
    "gptneox", {.types = {"gpt_neox"},
                .tensors = kNeoXLayer,
                .keys = kNeoXKeys,
                .activations = {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh"},
                .model_tensors = kNeoXModel,
                .prefixes = {"gpt_neox."},
                .rope_share = "rotary_pct",
                .usual_rope_share = 0.25});
constinit const Architecture kFalcon =
    decoder<falcon, read_falcon>("falcon", {.types = {"falcon", "RefinedWeb", "RefinedWebModel"},
                                            .tensors = kFalconLayer,
                                            .keys = kFalconKeys,
                                            .model_tensors = kFalconModel,
                                            .prefixes = {"transformer."},
                                            .layers = "h.",
                                            .settings = kFalconSettings,
                                            .ignored = kFalconIgnored,
                                            .tied = true});

}  // namespace weft::arch
