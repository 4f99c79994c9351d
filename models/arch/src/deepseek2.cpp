// DeepSeek V2, V3, R1, Kimi K2, GLM-4.7 Flash and others with their layout: multi-head latent
// attention, dense first layers, then experts in groups and a shared one. Mistral 4 is the same,
// with queries that grow with their position; PLM has an ffn of relu squared, MiniCPM3 SwiGLU and
// scaled residuals; DeepSeek-OCR has plain attention. Sources: DeepSeek-AI 2024, arXiv:2405.04434;
// 2024, arXiv:2412.19437; Deng et al. 2025, arXiv:2503.12167 (PLM);
// https://huggingface.co/openbmb/MiniCPM3-4B.

#include <cmath>

#include "weft/arch/decoder.h"
#include "weft/arch/latent_attention.h"

namespace weft {
namespace {

struct DeepSeek2 : Hparams {
  LatentHparams latent = {};
  float score_scale = 1, temperature = 0;
};

Decoder deepseek2(const DeepSeek2& c) {
  LatentAttention attention{.n = c.latent, .scale = c.score_scale};
  if (c.temperature != 0)
    attention.temperature = {.scale = c.temperature, .length = c.rope.original_context};
  return {.rope = {.attrs = c.rope, .factors = true}, .layer = pre_norm_layer(attention, Moe{})};
}

template <bool cancel_rope>
DeepSeek2 read(const Keys& keys) {
  DeepSeek2 c{read_hparams(keys)};
  c.latent = read_latent(keys, c);
  read_experts(keys, c, {.normalize = false, .width = ExpertWidth::own_or_ffn});
  c.score_scale = read_score_scale(keys, c, c.latent, cancel_rope);
  c.temperature = keys.number_or("attention.temperature_scale", -1e3, 1e3, 0);
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

}  // namespace

extern const Architecture kDeepSeek2, kDeepSeek2Ocr, kMiniCpm3, kMistral4, kPlm;
constinit const Architecture kDeepSeek2 = decoder<deepseek2, read<true>>("deepseek2");
constinit const Architecture kDeepSeek2Ocr =
    decoder<ocr, read_with_experts<ExpertRules{.normalize = false}>>("deepseek2-ocr");
constinit const Architecture kMiniCpm3 = decoder<minicpm3, read_latent_dense>("minicpm3");
constinit const Architecture kMistral4 = decoder<deepseek2, read<false>>("mistral4");
constinit const Architecture kPlm = decoder<plm, read_latent_dense>("plm");

}  // namespace weft
