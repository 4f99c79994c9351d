// BLOOM: layer norms with biases, also over the embeddings, ALiBi, GELU. MPT: the same, often
// without biases, with clamped q, k and v, and either ALiBi or learned positions. Jais: SwiGLU with
// biases, and scores divided by the width of a head, not by its root; Jais 2: rope over halves and
// relu squared. Sources: BigScience 2022, arXiv:2211.05100; MosaicML 2023,
// https://www.databricks.com/blog/mpt-7b; Sengupta et al. 2023, arXiv:2308.16149.

#include "weft/arch/decoder.h"

namespace weft::arch {
namespace {

struct Alibi : Hparams {
  float alibi = 0;
};

Decoder bloom(const Hparams&) {
  return {.embedding_norm = "token_embd_norm",
          .layer = pre_norm_layer(Attention{.alibi = 8}, Ffn{act::gelu, false})};
}

Decoder mpt(const Alibi& c) {
  const Attention attention{.q_and_k = {norm_width_if_present}, .alibi = c.alibi};
  return {.positions = c.alibi > 0 ? std::string_view() : "position_embd",
          .layer = pre_norm_layer(attention, Ffn{act::gelu, false})};
}

Decoder jais(const Alibi& c) {
  const float scale = 1 / static_cast<float>(c.layer(0).E);
  return {.layer = pre_norm_layer(Attention{.scale = scale, .alibi = c.alibi}, swiglu)};
}

Decoder jais2(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{rope_halves}}, Ffn{act::relu_squared, false})};
}

constexpr auto read = read_usual<HparamsRules{.norm = NormKind::layer}>;

Alibi read_alibi(const Keys& keys) {
  return {read(keys), keys.number_or("attention.max_alibi_bias", 0, 1e6, 0)};
}

}  // namespace

extern const Architecture kBloom, kMpt, kJais, kJais2;
constinit const Architecture kBloom = decoder<bloom, read>("bloom");
constinit const Architecture kMpt = decoder<mpt, read_alibi>("mpt");
constinit const Architecture kJais = decoder<jais, read_alibi>("jais");
constinit const Architecture kJais2 = decoder<jais2, read>("jais2");

}  // namespace weft::arch
