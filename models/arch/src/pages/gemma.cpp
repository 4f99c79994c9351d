// Gemma 1 to 3: embeddings scaled by the root of their width, wide heads, rope over halves, GeGLU,
// the output matrix shared with the embeddings. 2 adds norms after attention and ffn, a window in
// every other layer, and caps on scores and logits. 3 has norms over every query and key head in
// place of the caps, a window in five of six layers, and there a rope of its own.
// EmbeddingGemma is Gemma 3 in which a token sees all others, in a window those at most half of it
// away, to either side: in transformers, configuration_gemma3.py makes sliding_window half of
// itself plus 1, and modeling_gemma3.py lets a token see distances below that.
// The "+ 1" of their norms is in the weights of the files.
// Sources: Gemma Team 2024, arXiv:2403.08295; 2024, arXiv:2408.00118; 2025, arXiv:2503.19786; Vera
// et al. 2025, arXiv:2509.20354.

#include "weft/arch/decoder.h"

#include "decoder/root.h"

namespace weft::arch {
namespace {

struct Gemma : Hparams {
  float score_scale = 0, score_cap = 0, logits_cap = 0;
  RopeAttrs local_rope = {};
};

Decoder gemma(const Gemma& c) {
  return {.rope = {.attrs = c.rope},
          .embedding_scale = root(c.D),
          .layer = pre_norm_layer(Attention{{rope_halves}}, Ffn{act::gelu})};
}

Decoder gemma2(const Gemma& c) {
  const Attention attention{
      .q_and_k = {rope_halves}, .scale = c.score_scale, .softcap = c.score_cap};
  return {.rope = {.attrs = c.rope},
          .embedding_scale = root(c.D),
          .layer = sandwich_norm_layer(attention, Ffn{act::gelu}),
          .logits_cap = c.logits_cap};
}

Decoder gemma3(const Gemma& c) {
  const Attention attention{.q_and_k = {norm_heads, rope_halves}, .scale = c.score_scale};
  return {.rope = {.attrs = c.rope},
          .second_rope = {.attrs = c.local_rope},
          .embedding_scale = root(c.D),
          .layer = sandwich_norm_layer(attention, Ffn{act::gelu}),
          .logits_cap = c.logits_cap};
}

// If the file does not say: the 27B models (of `deep` layers) scale scores by the width of a head
// as if D were shared evenly.
float score_scale(const Keys& keys, const Hparams& c, std::int64_t deep) {
  const LayerHparams& n = c.layer(0);
  return keys.number_or("attention.scale", 1e-6, 1e6, 1 / root(c.L == deep ? c.D / n.H : n.E));
}

Gemma read(const Keys& keys) {
  return {read_usual<>(keys)};
}

Gemma read2(const Keys& keys) {
  Gemma c{read_usual<>(keys)};
  read_windows(keys, c, 2, {.window = 4096});
  c.score_scale = score_scale(keys, c, 46);
  c.score_cap = keys.number_or("attn_logit_softcapping", 0, 1e6, 50);
  c.logits_cap = keys.number_or("final_logit_softcapping", 0, 1e6, 30);
  return c;
}

Gemma read3(const Keys& keys) {
  Gemma c{read_usual<>(keys)};
  read_windows(keys, c, 6);
  c.score_scale = score_scale(keys, c, 62);
  c.logits_cap = keys.number_or("final_logit_softcapping", 0, 1e6, 0);
  c.local_rope = read_local_rope(keys, c, 10000);
  return c;
}

Gemma read_embedding(const Keys& keys) {
  Gemma c{read_usual<HparamsRules{.causal = false}>(keys)};
  read_windows(keys, c, 6);
  c.score_scale = keys.number_or("attention.scale", 1e-6, 1e6, 1 / root(c.layer(0).E));
  c.local_rope = read_local_rope(keys, c, 10000);
  return c;
}

constexpr auto kLessOne = HfTensor::Stored::less_one;
constexpr HfTensor kGemmaModel[] = {{"embed_tokens", "token_embd"},
                                    {"norm", "output_norm", kLessOne}};
constexpr HfTensor kGemma1[] = {{"input_layernorm", "attn_norm", kLessOne},
                                {"post_attention_layernorm", "ffn_norm", kLessOne}};
constexpr HfTensor kGemma23[] = {{"input_layernorm", "attn_norm", kLessOne},
                                 {"post_attention_layernorm", "post_attention_norm", kLessOne},
                                 {"pre_feedforward_layernorm", "ffn_norm", kLessOne},
                                 {"post_feedforward_layernorm", "post_ffw_norm", kLessOne},
                                 {"self_attn.q_norm", "attn_q_norm", kLessOne},
                                 {"self_attn.k_norm", "attn_k_norm", kLessOne}};
constexpr HfSetting kGelu[] = {{"hidden_activation", {"\"gelu_pytorch_tanh\""}}};
constexpr HfSetting kGemma2Settings[] = {{"hidden_activation", {"\"gelu_pytorch_tanh\""}},
                                         {"is_causal", {"true"}}};

using Kind = HfKey::Kind;
constexpr auto kDefault = HfKey::IfAbsent::use_default;
constexpr auto kOmit = HfKey::IfAbsent::omit;
constexpr HfKey kGemma1Keys[] = {
    {"num_key_value_heads", "attention.head_count_kv", Kind::count, kDefault, "", 16},
    {"head_dim", "attention.key_length", Kind::count, kDefault, "", 256},
    {"head_dim", "attention.value_length", Kind::count, kDefault, "", 256}};
constexpr HfKey cap(std::string_view name, double usual) {
  return {.hf_name = name,
          .gguf_name = name,
          .kind = Kind::number,
          .if_absent = kDefault,
          .value = usual,
          .null_is_zero = true};
}
constexpr HfKey kGemma2Keys[] = {
    {"num_key_value_heads", "attention.head_count_kv", Kind::count, kDefault, "", 4},
    {"head_dim", "attention.key_length", Kind::count, kDefault, "", 256},
    {"head_dim", "attention.value_length", Kind::count, kDefault, "", 256},
    {"sliding_window", "attention.sliding_window", Kind::count, kDefault, "", 4096},
    {"query_pre_attn_scalar", "attention.scale", Kind::inverse_root, kDefault, "", 256},
    cap("attn_logit_softcapping", 50),
    cap("final_logit_softcapping", 30)};
constexpr HfKey kGemma3Keys[] = {
    {"vocab_size", "vocab_size", Kind::count, kDefault, "", 262208},
    {"max_position_embeddings", "context_length", Kind::count, kDefault, "", 131072},
    {"num_attention_heads", "attention.head_count", Kind::count, kDefault, "", 8},
    {"num_key_value_heads", "attention.head_count_kv", Kind::count, kDefault, "", 4},
    {"head_dim", "attention.key_length", Kind::count, kDefault, "", 256},
    {"head_dim", "attention.value_length", Kind::count, kDefault, "", 256},
    {"sliding_window", "attention.sliding_window", Kind::count, kDefault, "", 4096},
    {"sliding_window_pattern", "attention.sliding_window_pattern", Kind::count, kOmit},
    {"query_pre_attn_scalar", "attention.scale", Kind::inverse_root, kDefault, "", 256},
    {"final_logit_softcapping", "final_logit_softcapping", Kind::number, kDefault},
    {"rope_local_base_freq", "rope.freq_base_swa", Kind::number, kOmit}};
constexpr HfSetting kGemma3Settings[] = {{"hidden_activation", {"\"gelu_pytorch_tanh\""}},
                                         {"attn_logit_softcapping"},
                                         {"use_bidirectional_attention", {"false"}},
                                         {"is_causal", {"true"}}};
constexpr HfSetting kEmbeddingSettings[] = {{"hidden_activation", {"\"gelu_pytorch_tanh\""}},
                                            {"attn_logit_softcapping"},
                                            {"final_logit_softcapping"},
                                            {"use_bidirectional_attention", {"true"}}};
constexpr std::string_view kGemma2Ignored[] = {"sliding_window_size"};
constexpr std::string_view kGemma3Ignored[] = {"_sliding_window_pattern"};

}  // namespace

extern const Architecture kGemma, kGemma2, kGemma3, kGemmaEmbedding;
constinit const Architecture kGemma =
    decoder<gemma, read>("gemma", {.types = {"gemma"},
                                   .tensors = kGemma1,
                                   .keys = kGemma1Keys,
                                   .activations = {"gelu", "gelu_pytorch_tanh"},
                                   .model_tensors = kGemmaModel,
                                   .settings = kGelu,
                                   .tied = true});
constinit const Architecture kGemma2 =
    decoder<gemma2, read2>("gemma2", {.types = {"gemma2"},
                                      .tensors = kGemma23,
                                      .keys = kGemma2Keys,
                                      .activations = {"gelu_pytorch_tanh"},
                                      .model_tensors = kGemmaModel,
                                      .settings = kGemma2Settings,
                                      .ignored = kGemma2Ignored,
                                      .windows = HfWindows::by_layer,
                                      .tied = true});
constinit const Architecture kGemma3 =
    decoder<gemma3, read3>("gemma3", {.types = {"gemma3_text", "gemma3"},
                                      .tensors = kGemma23,
                                      .keys = kGemma3Keys,
                                      .activations = {"gelu_pytorch_tanh"},
                                      .model_tensors = kGemmaModel,
                                      .settings = kGemma3Settings,
                                      .ignored = kGemma3Ignored,
                                      .windows = HfWindows::by_layer,
                                      .tied = true,
                                      .usual_rope_base = 1e6});
constinit const Architecture kGemmaEmbedding =
    decoder<gemma3, read_embedding>("gemma-embedding", {.types = {"gemma3_text", "gemma3"},
                                                        .flag = "use_bidirectional_attention",
                                                        .tensors = kGemma23,
                                                        .keys = kGemma3Keys,
                                                        .activations = {"gelu_pytorch_tanh"},
                                                        .model_tensors = kGemmaModel,
                                                        .settings = kEmbeddingSettings,
                                                        .ignored = kGemma3Ignored,
                                                        .windows = HfWindows::by_layer,
                                                        .tied = true,
                                                        .usual_rope_base = 1e6});

}  // namespace weft::arch
