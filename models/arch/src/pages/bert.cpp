// Encoders of BERT's kind: every token sees all others, and each block's sum with its input is
// normed. BERT: learned positions, types of tokens, GELU. Nomic: rope and SwiGLU. Jina 2: symmetric
// ALiBi, norms over all queries and all keys, GeGLU; Jina 3: rope.
// Sources: Devlin et al. 2018, arXiv:1810.04805; Nussbaum et al. 2024, arXiv:2402.01613; Guenther
// et al. 2023, arXiv:2310.19923; Sturua et al. 2024, arXiv:2409.10173.

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/add.h"

#include "keys/gelu_key.h"

namespace weft::arch {
namespace {

std::vector<Residual> post_norm_layer(Block attention, Block ffn) {
  return {{.name = "attn", .block = std::move(attention), .sum_norm = "attn_output_norm"},
          {.name = "ffn", .block = std::move(ffn), .sum_norm = "layer_output_norm"}};
}

Decoder encoder(std::vector<Residual> layer) {
  return {.token_types = "token_types",
          .embedding_norm = "token_embd_norm",
          .layer = std::move(layer),
          .final_norm = ""};
}

struct Bert : Hparams {
  Act gelu = act::gelu;
};

Decoder bert(const Bert& c) {
  Decoder d = encoder(post_norm_layer(Attention{}, Ffn{c.gelu, false}));
  d.positions = "position_embd";
  return d;
}

Decoder nomic(const Hparams& c) {
  Decoder d = encoder(post_norm_layer(Attention{{rope_halves}}, swiglu));
  d.rope = {.attrs = c.rope};
  return d;
}

Decoder jina3(const Hparams& c) {
  Decoder d = encoder(post_norm_layer(Attention{{rope_halves}}, Ffn{act::gelu, false}));
  d.rope = {.attrs = c.rope};
  return d;
}

Tensor jina2_layer(const Layer& l, Tensor x) {
  const Attention attention{.q_and_k = {norm_width_if_present}, .alibi = 8};
  Tensor h = norm(l.w, "attn_output_norm", l.c, add(attention(l, x), x));
  if (l.w.has("attn_norm_2.weight")) h = norm(l.w, "attn_norm_2", l.c, add(h, x));
  return norm(l.w, "layer_output_norm", l.c, add(h, Ffn{act::gelu}(l, h)));
}

Decoder jina2(const Hparams&) {
  Decoder d = encoder({});
  d.whole_layer = jina2_layer;
  return d;
}

Decoder nomic_moe(const Hparams& c) {
  const Moe ffn{.unit = unit::gelu, .dense = {act::gelu, false}};
  Decoder d = encoder(post_norm_layer(Attention{{rope_halves}}, ffn));
  d.rope = {.attrs = c.rope};
  return d;
}

constexpr auto read = read_usual<HparamsRules{.norm = NormKind::layer, .causal = false}>;

Bert read_bert(const Keys& keys) {
  return {read(keys), read_gelu(keys)};
}

// Experts in every n-th layer, beginning with the second.
Hparams read_moe(const Keys& keys) {
  Hparams c = read_hparams(keys, {.norm = NormKind::layer, .causal = false});
  read_experts(keys, c, {.normalize = false, .width = ExpertWidth::ffn});
  const std::int64_t n = keys.count_or("moe_every_n_layers", c.L, c.L);
  for (std::int64_t i = 0; i < c.L; ++i)
    c.layers[static_cast<std::size_t>(i)].experts = c.experts.X > 0 && i % n == 1;
  return c;
}

using Kind = HfKey::Kind;
using IfAbsent = HfKey::IfAbsent;
constexpr HfTensor kBertModel[] = {
    {"embeddings.word_embeddings", "token_embd"},
    {"embeddings.token_type_embeddings", "token_types"},
    {"embeddings.position_embeddings", "position_embd", HfTensor::Stored::positions},
    {"embeddings.LayerNorm", "token_embd_norm"},
    {"embeddings.position_ids", ""},
    {"pooler.dense", "cls"},
    {"classifier", "cls.output"},
    {"classifier.dense", "cls"},  // of RoBERTa
    {"classifier.out_proj", "cls.output"},
    {"cls.predictions", ""},  // heads of the training
    {"cls.predictions.decoder", ""},
    {"cls.predictions.transform.dense", ""},
    {"cls.predictions.transform.LayerNorm", ""},
    {"cls.seq_relationship", ""},
    {"lm_head.dense", ""},
    {"lm_head.decoder", ""},
    {"lm_head.layer_norm", ""},
};
constexpr HfTensor kBertLayer[] = {
    {"attention.self.query", "attn_q"},
    {"attention.self.key", "attn_k"},
    {"attention.self.value", "attn_v"},
    {"attention.output.dense", "attn_output"},
    {"attention.output.LayerNorm", "attn_output_norm"},
    {"intermediate.dense", "ffn_up"},
    {"output.dense", "ffn_down"},
    {"output.LayerNorm", "layer_output_norm"},
};
constexpr HfKey kBertKeys[] = {
    {"layer_norm_eps", "attention.layer_norm_epsilon", Kind::number, IfAbsent::use_default, "",
     1e-12},
    {"", "attention.layer_norm_rms_epsilon", Kind::none, IfAbsent::use_default},
    {"", "attention.causal", Kind::flag, IfAbsent::use_default},
    gelu_row("hidden_act"),
};
constexpr HfSetting kBertSettings[] = {{"position_embedding_type", {"\"absolute\""}},
                                       {"is_decoder", {"false"}},
                                       {"is_causal", {"false"}}};

constexpr std::string_view kBertIgnored[] = {
    "add_pooling_layer",    "directionality",       "pooler_fc_size", "pooler_num_attention_heads",
    "pooler_num_fc_layers", "pooler_size_per_head", "pooler_type"};

constexpr HfTensor kNomicModel[] = {
    {"embeddings.word_embeddings", "token_embd"},
    {"embeddings.token_type_embeddings", "token_types"},
    {"emb_ln", "token_embd_norm"},
};
constexpr HfTensor kNomicLayer[] = {
    {"attn.Wqkv", "attn_qkv"},      {"attn.out_proj", "attn_output"}, {"norm1", "attn_output_norm"},
    {"mlp.fc11", "ffn_up"},         {"mlp.fc12", "ffn_gate"},         {"mlp.fc2", "ffn_down"},
    {"norm2", "layer_output_norm"},
};
constexpr HfKey kNomicKeys[] = {
    {"n_positions", "context_length"},
    {"n_embd", "embedding_length"},
    {"n_layer", "block_count"},
    {"n_inner", "feed_forward_length"},
    {"n_head", "attention.head_count"},
    {"n_head", "attention.head_count_kv"},
    {"layer_norm_epsilon", "attention.layer_norm_epsilon", Kind::number},
    {"", "attention.layer_norm_rms_epsilon", Kind::none, IfAbsent::use_default},
    {"", "attention.causal", Kind::flag, IfAbsent::use_default},
    {"rotary_emb_base", "rope.freq_base", Kind::number},
};
constexpr HfSetting kNomicSettings[] = {{"activation_function", {"\"swiglu\""}, "", true},
                                        {"rotary_emb_interleaved", {"false"}},
                                        {"rotary_emb_scale_base"},
                                        {"rotary_scaling_factor"},
                                        {"prenorm", {"false"}},
                                        {"causal", {"false"}},
                                        {"parallel_block", {"false"}},
                                        {"use_rms_norm", {"false"}},
                                        {"scale_attn_by_inverse_layer_idx", {"false"}},
                                        {"is_causal", {"false"}}};
// Newer files have each number under two names: that of the published code, which is read, and that
// of transformers' own class.
constexpr std::string_view kNomicIgnored[] = {
    "hidden_size",          "intermediate_size",       "layer_norm_eps",
    "num_hidden_layers",    "num_attention_heads",     "max_position_embeddings",
    "add_pooling_layer",    "dense_seq_output",        "fused_bias_fc",
    "fused_dropout_add_ln", "max_trained_positions",   "mlp_fc1_bias",
    "mlp_fc2_bias",         "pad_vocab_size_multiple", "parallel_block_tied_norm",
    "qkv_proj_bias",        "reorder_and_upcast_attn", "use_xentropy"};

}  // namespace

extern const Architecture kBert, kNomicBert, kNomicBertMoe, kJinaBert2, kJinaBert3;
constinit const Architecture kBert =
    decoder<bert, read_bert>("bert", {.types = {"bert", "xlm-roberta", "roberta", "camembert"},
                                      .tensors = kBertLayer,
                                      .keys = kBertKeys,
                                      .activations = {"gelu", "gelu_new", "gelu_pytorch_tanh"},
                                      .model_tensors = kBertModel,
                                      .prefixes = {"bert.", "roberta."},
                                      .layers = "encoder.layer.",
                                      .settings = kBertSettings,
                                      .ignored = kBertIgnored,
                                      .tied = true,
                                      .rope = false,
                                      .offset_types = {"xlm-roberta", "roberta", "camembert"}});
constinit const Architecture kNomicBert =
    decoder<nomic, read>("nomic-bert", {.types = {"nomic_bert"},
                                        .tensors = kNomicLayer,
                                        .keys = kNomicKeys,
                                        .model_tensors = kNomicModel,
                                        .prefixes = {"bert."},
                                        .layers = "encoder.layers.",
                                        .settings = kNomicSettings,
                                        .ignored = kNomicIgnored,
                                        .tied = true,
                                        .rope_share = "rotary_emb_fraction",
                                        .usual_rope_share = 0});
constinit const Architecture kNomicBertMoe = decoder<nomic_moe, read_moe>("nomic-bert-moe");
constinit const Architecture kJinaBert2 = decoder<jina2, read>("jina-bert-v2");
constinit const Architecture kJinaBert3 = decoder<jina3, read>("jina-bert-v3");

}  // namespace weft::arch
