// Encoders and diffusion language models that are decoders but for their masks: every token sees
// all others. Llama as embedder; EuroBERT; NeoBERT; ModernBERT, which sees a window in two of three
// layers. Dream and LLaDA are Qwen 2 and Llama, RND1 and LLaDA-MoE mixtures of experts, all of
// which fill in masked tokens. Sources: Boizard et al. 2025, arXiv:2503.05500; Le Breton et al.
// 2025, arXiv:2502.19587; Warner et al. 2024, arXiv:2412.13663; Ye et al. 2025, arXiv:2508.15487;
// Nie et al. 2025, arXiv:2502.09992.

#include "weft/arch/decoder.h"

#include "keys/gelu_key.h"

namespace weft::arch {
namespace {

Decoder adjacent(const Hparams& c) {
  return {.rope = {.attrs = c.rope, .factors = true},
          .layer = pre_norm_layer(Attention{{rope_adjacent}}, Moe{})};
}

Decoder halves(const Hparams& c) {
  return {.rope = {.attrs = c.rope}, .layer = pre_norm_layer(Attention{{rope_halves}}, Moe{})};
}

Decoder norm_then_halves(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{norm_heads, rope_halves}}, Moe{})};
}

Decoder neo_bert(const Hparams& c) {
  Decoder d = adjacent(c);
  d.final_norm = "enc.output_norm";
  return d;
}

struct Windowed : Hparams {
  RopeAttrs local_rope = {};
  Act act = act::gelu;
};

Decoder modern_bert(const Windowed& c) {
  const Ffn ffn{c.act};
  const auto layer = [ffn](std::int64_t i) {
    std::vector<Residual> steps = pre_norm_layer(Attention{{rope_halves}}, ffn);
    if (i == 0) steps[0].pre_norm = {};  // the embeddings are normed already
    return steps;
  };
  return {.rope = {.attrs = c.rope},
          .second_rope = {.attrs = c.local_rope},
          .embedding_norm = "token_embd_norm",
          .layer_of = layer};
}

constexpr auto read = read_usual<HparamsRules{.causal = false}>;

Windowed read_modern_bert(const Keys& keys) {
  Windowed c{read_usual<HparamsRules{.norm = NormKind::layer, .causal = false}>(keys)};
  read_windows(keys, c, 3, {.full_first = true});
  c.local_rope = read_local_rope(keys, c, 10000);
  const auto act = keys.source().find_string(keys.name("hidden_activation"));
  const bool silu = act && (*act == "silu" || *act == "swiglu");
  c.act = silu ? act::silu : read_gelu(keys);
  return c;
}

using Kind = HfKey::Kind;
using IfAbsent = HfKey::IfAbsent;
constexpr HfTensor kModernModel[] = {
    {"embeddings.tok_embeddings", "token_embd"},
    {"embeddings.norm", "token_embd_norm"},
    {"final_norm", "output_norm"},
    {"head.dense", "cls"},  // a classifier's, or left from the training
    {"head.norm", "cls.norm"},
    {"classifier", "cls.output"},
    {"decoder", ""},
};
constexpr HfTensor kModernLayer[] = {
    {"attn_norm", "attn_norm"}, {"attn.Wqkv", "attn_qkv"}, {"attn.Wo", "attn_output"},
    {"mlp_norm", "ffn_norm"},   {"mlp.Wi", "ffn_up"},      {"mlp.Wo", "ffn_down"},
};
constexpr HfKey kModernKeys[] = {
    {"norm_eps", "attention.layer_norm_epsilon", Kind::number, IfAbsent::use_default, "", 1e-5},
    {"", "attention.layer_norm_rms_epsilon", Kind::none, IfAbsent::use_default},
    {"", "attention.causal", Kind::flag, IfAbsent::use_default},
    {"local_attention", "attention.sliding_window", Kind::count, IfAbsent::use_default, "", 128},
    {"global_attn_every_n_layers", "attention.sliding_window_pattern", Kind::count,
     IfAbsent::use_default, "", 3},
    {"global_rope_theta", "rope.freq_base", Kind::number, IfAbsent::use_default, "", 160000},
    {"local_rope_theta", "rope.freq_base_swa", Kind::number, IfAbsent::use_default,
     "global_rope_theta", 10000},
    gelu_row("hidden_activation"),
    {.hf_name = "classifier_pooling",
     .gguf_name = "classifier.reads",
     .kind = Kind::text,
     .if_absent = IfAbsent::use_default,
     .words = {"cls"}},
    {.hf_name = "classifier_activation",
     .gguf_name = "classifier.activation",
     .kind = Kind::text,
     .if_absent = IfAbsent::use_default,
     .words = {"gelu"}},
};
constexpr HfSetting kModernSettings[] = {
    {"classifier_pooling", {"\"cls\"", "\"mean\""}},
    {"classifier_activation", {"\"gelu\"", "\"gelu_pytorch_tanh\""}},
    {"hidden_activation", {"\"gelu\"", "\"gelu_pytorch_tanh\"", "\"silu\""}},
    {"rope_scaling"},
    {"rope_theta"}};
constexpr std::string_view kModernIgnored[] = {
    "classifier_bias",
    "decoder_bias",
    "deterministic_flash_attn",
    "initializer_cutoff_factor",
    "layer_norm_eps",
    "mlp_dropout",
    "norm_bias",
    "position_embedding_type",
    "reference_compile",
    "repad_logits_with_grad",
    "sparse_pred_ignore_index",
    "sparse_prediction",
};

}  // namespace

extern const Architecture kDream, kEuroBert, kLlada, kLladaMoe, kLlamaEmbed, kModernBert, kNeoBert,
    kRnd1;
constinit const Architecture kDream = diffusing(decoder<halves, read>("dream"));
constinit const Architecture kEuroBert = decoder<halves, read>("eurobert");
constinit const Architecture kLlada = diffusing(decoder<adjacent, read>("llada"));
constinit const Architecture kLladaMoe = diffusing(
    decoder<norm_then_halves,
            read_with_experts<ExpertRules{.normalize = false}, HparamsRules{.causal = false}>>(
        "llada-moe"));
constinit const Architecture kLlamaEmbed = decoder<adjacent>("llama-embed");
constinit const Architecture kModernBert =
    decoder<modern_bert, read_modern_bert>("modern-bert", {.types = {"modernbert"},
                                                           .tensors = kModernLayer,
                                                           .keys = kModernKeys,
                                                           .activations = {"gelu"},
                                                           .model_tensors = kModernModel,
                                                           .prefixes = {"model."},
                                                           .settings = kModernSettings,
                                                           .ignored = kModernIgnored,
                                                           .windows = HfWindows::by_layer,
                                                           .tied = true});
constinit const Architecture kNeoBert = decoder<neo_bert, read>("neo-bert");
constinit const Architecture kRnd1 = diffusing(
    decoder<norm_then_halves,
            read_with_experts<ExpertRules{.normalize = true}, HparamsRules{.causal = false}>>(
        "rnd1"));

}  // namespace weft::arch
