// T5: an encoder that reads the prompt as a whole, and a decoder whose tokens attend to each other
// and to what the encoder made of the prompt. Norms before blocks, no rope: the first layer's table
// of biases by distance holds for all. Scores are not scaled. ReLU, or gated GELU (Flan-T5, T5
// 1.1). Logits of tied embeddings are not scaled by 1 / sqrt(D), as in other programs that read
// these files; the order of tokens is the same. "t5encoder" is the encoder alone, for embeddings:
// its tokens see later ones only if attention.causal is false, as in the program that its golden
// embeddings come from.
// Sources: Raffel et al. 2019, arXiv:1910.10683; Shazeer 2020, arXiv:2002.05202.

#include <algorithm>

#include "weft/arch/decoder.h"
#include "weft/ops/attention/bucket_distances.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/rows/get_rows.h"
#include "weft/ops/rows/views.h"

namespace weft::arch {
namespace {

struct T5 : Hparams {
  std::int64_t n_buckets = 0;
  std::int64_t decoder_L = 0;
};

// NAME x, by heads: [T, D] -> [T, n, E]
Tensor heads(const Layer& l, std::string_view name, std::int64_t n, std::int64_t E, Tensor x) {
  return split_heads(project(l.w, name, n * E, l.c.D, x), n);
}

Tensor output(const Layer& l, std::string_view name, Tensor y) {  // [T, H, Ev] -> [T, D]
  const LayerHparams& n = l.hparams();
  return project(l.w, name, l.c.D, n.H * n.Ev, merge_heads(y));
}

// The layer's own biases by distance [2 r + 1, H], or those of the layers before.
Tensor distances(const Layer& l, const T5& c, bool both_ways, Tensor before) {
  const std::string name = "attn_rel_b.weight";
  const Shape shape{c.n_buckets, l.hparams().H};
  const Tensor table = before ? l.w.optional(name, shape) : l.w(name, shape);
  return table ? bucket_distances(table, {.both_ways = both_ways}) : before;
}

Tensor attention(const Layer& l, const Memory& memory, Tensor distances, Tensor x) {
  const LayerHparams& n = l.hparams();
  const Tensor q = heads(l, "attn_q", n.H, n.E, x), k = heads(l, "attn_k", n.G, n.E, x),
               v = heads(l, "attn_v", n.G, n.Ev, x);
  const AttentionBias bias{.pos = l.in.pos, .distances = distances};
  return output(l, "attn_o", memory.attend(l.index, q, k, v, {}, bias));
}

Tensor cross_attention(const Layer& l, Tensor x) {
  const LayerHparams& n = l.hparams();
  const Tensor q = heads(l, "cross_attn_q", n.H, n.E, x);
  return output(l, "cross_attn_o", l.in.memory.attend_encoded(l.index, q, {n.G, n.E, n.Ev}, {}));
}

Tensor ffn(const Layer& l, Tensor x) {
  const bool gated = l.w.has("ffn_gate.weight");
  return Ffn{gated ? act::gelu : act::relu, gated}(l, x);
}

Tensor normed(const Layer& l, std::string_view name, Tensor h) {
  return norm(l.w, name, l.c, h);
}

Tensor encoder_layers(const Weights& w, const T5& c, const Inputs& in, const Memory& memory,
                      Tensor h) {
  const Weights enc = w.part("enc");
  Tensor bias;
  for (std::int64_t i = 0; i < c.L; ++i) {
    const Weights blk = enc.block(i);
    const Layer l{blk, c, in, i, {}};
    bias = distances(l, c, true, bias);
    const Tensor y = attention(l, memory, bias, normed(l, "attn_norm", h));
    h = add(h, y).named("attn_residual");
    h = add(h, ffn(l, normed(l, "ffn_norm", h))).named("ffn_residual");
  }
  return h;
}

Tensor embeddings(const Weights& w, const T5& c) {
  return w("token_embd.weight", {c.V, c.D});
}

Tensor encoder_alone(const Weights& w, const T5& c, const Inputs& in) {
  const Tensor embd = embeddings(w, c);
  const Memory memory = c.causal ? in.memory : in.memory.both_ways();
  const Tensor h = encoder_layers(w, c, in, memory, get_rows(embd, in.tokens));
  return head(w, c, h, embd, in, "enc.output_norm");
}

Tensor encode(const Weights& w, const T5& c, const Inputs& in) {
  const Tensor h =
      encoder_layers(w, c, in, in.memory.both_ways(), get_rows(embeddings(w, c), in.tokens));
  const Tensor rows = norm(w, "enc.output_norm", c, h);  // [T, D]
  const Tensor out = get_rows(rows, in.out_rows);
  w.ignore_part("dec");
  w.ignore_part("output");
  const Weights dec = w.part("dec");
  for (std::int64_t i = 0; i < c.decoder_L; ++i) {
    const Weights blk = dec.block(i);
    const Layer l{blk, c, in, i, {}};
    const LayerHparams& n = l.hparams();
    in.memory.keep_encoded(i, heads(l, "cross_attn_k", n.G, n.E, rows),
                           heads(l, "cross_attn_v", n.G, n.Ev, rows));
  }
  return out;
}

Tensor decode(const Weights& w, const T5& c, const Inputs& in) {
  w.ignore_part("enc");
  const Tensor embd = embeddings(w, c);
  Tensor h = get_rows(embd, in.tokens), bias;
  for (std::int64_t i = 0; i < c.decoder_L; ++i) {
    const Weights dec = w.part("dec"), blk = dec.block(i);
    const Layer l{blk, c, in, i, {}};
    for (const auto* used_by_encoder : {"cross_attn_k", "cross_attn_v"})
      blk.ignore_part(used_by_encoder);
    blk.ignore("cross_attn_rel_b.weight");  // trained, but not used by the original either
    bias = distances(l, c, false, bias);
    const Tensor y = attention(l, in.memory, bias, normed(l, "attn_norm", h));
    h = add(h, y).named("attn_residual");
    h = add(h, cross_attention(l, normed(l, "cross_attn_norm", h))).named("cross_residual");
    h = add(h, ffn(l, normed(l, "ffn_norm", h))).named("ffn_residual");
  }
  return head(w, c, h, embd, in, "dec.output_norm");
}

T5 read(const Keys& keys) {
  constexpr std::int64_t kMaxBuckets = 254, kMaxLayers = 4096;
  T5 c{read_hparams(keys)};
  require_dense(keys, c);
  c.n_buckets = keys.count_or("attention.relative_buckets_count", kMaxBuckets, 32);
  if (c.n_buckets < 4 || c.n_buckets % 2 != 0)
    keys.refuse("attention.relative_buckets_count", c.n_buckets, "even, from 4 to 254");
  c.decoder_L = keys.count_or("decoder_block_count", kMaxLayers, c.L);
  const auto n_layers = static_cast<std::size_t>(std::max(c.L, c.decoder_L));
  c.layers.resize(n_layers, c.layers.back());
  return c;
}

constexpr HfTensor kTensors[] = {
    {"shared", "token_embd"},
    {"encoder.embed_tokens", ""},
    {"decoder.embed_tokens", ""},
    {"encoder.block.#.layer.0.layer_norm", "enc.blk.#.attn_norm"},
    {"encoder.block.#.layer.0.SelfAttention.q", "enc.blk.#.attn_q"},
    {"encoder.block.#.layer.0.SelfAttention.k", "enc.blk.#.attn_k"},
    {"encoder.block.#.layer.0.SelfAttention.v", "enc.blk.#.attn_v"},
    {"encoder.block.#.layer.0.SelfAttention.o", "enc.blk.#.attn_o"},
    {"encoder.block.#.layer.0.SelfAttention.relative_attention_bias", "enc.blk.#.attn_rel_b"},
    {"encoder.block.#.layer.1.layer_norm", "enc.blk.#.ffn_norm"},
    {"encoder.block.#.layer.1.DenseReluDense.wi", "enc.blk.#.ffn_up"},
    {"encoder.block.#.layer.1.DenseReluDense.wi_0", "enc.blk.#.ffn_gate"},
    {"encoder.block.#.layer.1.DenseReluDense.wi_1", "enc.blk.#.ffn_up"},
    {"encoder.block.#.layer.1.DenseReluDense.wo", "enc.blk.#.ffn_down"},
    {"encoder.final_layer_norm", "enc.output_norm"},
    {"decoder.block.#.layer.0.layer_norm", "dec.blk.#.attn_norm"},
    {"decoder.block.#.layer.0.SelfAttention.q", "dec.blk.#.attn_q"},
    {"decoder.block.#.layer.0.SelfAttention.k", "dec.blk.#.attn_k"},
    {"decoder.block.#.layer.0.SelfAttention.v", "dec.blk.#.attn_v"},
    {"decoder.block.#.layer.0.SelfAttention.o", "dec.blk.#.attn_o"},
    {"decoder.block.#.layer.0.SelfAttention.relative_attention_bias", "dec.blk.#.attn_rel_b"},
    {"decoder.block.#.layer.1.layer_norm", "dec.blk.#.cross_attn_norm"},
    {"decoder.block.#.layer.1.EncDecAttention.q", "dec.blk.#.cross_attn_q"},
    {"decoder.block.#.layer.1.EncDecAttention.k", "dec.blk.#.cross_attn_k"},
    {"decoder.block.#.layer.1.EncDecAttention.v", "dec.blk.#.cross_attn_v"},
    {"decoder.block.#.layer.1.EncDecAttention.o", "dec.blk.#.cross_attn_o"},
    {"decoder.block.#.layer.1.EncDecAttention.relative_attention_bias", ""},
    {"decoder.block.#.layer.2.layer_norm", "dec.blk.#.ffn_norm"},
    {"decoder.block.#.layer.2.DenseReluDense.wi", "dec.blk.#.ffn_up"},
    {"decoder.block.#.layer.2.DenseReluDense.wi_0", "dec.blk.#.ffn_gate"},
    {"decoder.block.#.layer.2.DenseReluDense.wi_1", "dec.blk.#.ffn_up"},
    {"decoder.block.#.layer.2.DenseReluDense.wo", "dec.blk.#.ffn_down"},
    {"decoder.final_layer_norm", "dec.output_norm"},
    {"lm_head", "output"},
};
using Kind = HfKey::Kind;
using IfAbsent = HfKey::IfAbsent;
constexpr HfKey kKeys[] = {
    {"n_positions", "context_length", Kind::count, IfAbsent::use_default, "", 512},
    {"d_model", "embedding_length"},
    {"num_layers", "block_count"},
    {"num_decoder_layers", "decoder_block_count", Kind::count, IfAbsent::same_as, "num_layers"},
    {"d_ff", "feed_forward_length"},
    {"num_heads", "attention.head_count"},
    {"num_heads", "attention.head_count_kv"},
    {"d_kv", "attention.key_length"},
    {"d_kv", "attention.value_length"},
    {"layer_norm_epsilon", "attention.layer_norm_rms_epsilon", Kind::number, IfAbsent::use_default,
     "", 1e-6},
    {"relative_attention_num_buckets", "attention.relative_buckets_count", Kind::count,
     IfAbsent::use_default, "", 32},
    {"decoder_start_token_id", "decoder_start_token_id", Kind::count, IfAbsent::omit},
};
// transformers 5 sets tie_word_embeddings in files of all these models, whatever they do with it,
// and says in those of T5 by scale_decoder_outputs whether the output matrix is the table of
// embeddings.
constexpr HfSetting kSettings[] = {{"tie_word_embeddings", {"false"}, "mt5"},
                                   {"tie_word_embeddings", {"false"}, "umt5"},
                                   {"relative_attention_max_distance", {"128"}},
                                   {"feed_forward_proj", {"\"relu\"", "\"gated-gelu\""}},
                                   {"is_causal", {"true"}},
                                   {"is_encoder_decoder", {"true"}},
                                   {"dense_act_fn", {"\"relu\"", "\"gelu_new\""}}};
constexpr std::string_view kIgnored[] = {"is_gated_act", "scalable_attention"};
constexpr HfAbsent kAbsent[] = {{.type = "mt5", .tied = false}, {.type = "umt5", .tied = false}};

constexpr Architecture encoder_decoder() {
  Architecture t5 = architecture<decode, read>("t5", {.types = {"t5", "mt5", "umt5"},
                                                      .keys = kKeys,
                                                      .model_tensors = kTensors,
                                                      .settings = kSettings,
                                                      .ignored = kIgnored,
                                                      .tied = true,
                                                      .tied_key = "scale_decoder_outputs",
                                                      .rope = false,
                                                      .absent = kAbsent});
  t5.encode = [](const Weights& w, const Hparams& c, const Inputs& in) {
    return encode(w, config_cast<T5>(c), in);
  };
  return t5;
}

}  // namespace

extern const Architecture kT5, kT5Encoder;
constinit const Architecture kT5 = encoder_decoder();
constinit const Architecture kT5Encoder = architecture<encoder_alone, read>("t5encoder");

}  // namespace weft::arch
