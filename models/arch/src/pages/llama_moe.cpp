// Decoders of Llama's kind whose ffns are mixtures of experts and which differ in numbers alone:
// routers, shared experts, and how many of the first layers are dense. DeepSeek-MoE (Dai et al.
// 2024, arXiv:2401.06066), ERNIE 4.5 (Baidu 2025), Ling (2025, arXiv:2503.05139), dots.llm1 (2025,
// arXiv:2506.05767), Ling 2 (2025, arXiv:2510.22115), OLMoE (Muennighoff et al. 2024,
// arXiv:2409.02060), Hunyuan-A13B (Tencent 2025), Hunyuan 3, MiniMax M2, DBRX (Databricks 2024).

#include <cmath>

#include "weft/arch/decoder.h"

namespace weft::arch {
namespace {

// Rope over adjacent pairs.
Decoder adjacent(const Hparams& c) {
  return {.rope = {.attrs = c.rope, .factors = true},
          .layer = pre_norm_layer(Attention{{rope_adjacent}}, Moe{})};
}

// Ling's scores are scaled by the root of what rope turns of a head.
Decoder ling(const Hparams& c) {
  const float scale = 1 / std::sqrt(static_cast<float>(c.rope.n_rot));
  return {.rope = {.attrs = c.rope, .factors = true},
          .layer = pre_norm_layer(Attention{.q_and_k = {rope_adjacent}, .scale = scale}, Moe{})};
}

// A norm over every query and key head, then rope over halves.
Decoder norm_then_halves(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{norm_heads, rope_halves}}, Moe{})};
}

// The other way round.
Decoder halves_then_norm(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{rope_halves, norm_heads}}, Moe{})};
}

// Norms over all queries and all keys of a token as one row.
Decoder norm_width_then_halves(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{norm_width, rope_halves}}, Moe{})};
}

Decoder dbrx(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{rope_halves}}, Moe{}, "attn_output_norm")};
}

template <ExpertRules experts, HparamsRules rules = HparamsRules{.min_F = 0}>
constexpr auto read = read_with_experts<experts, rules>;

constexpr ExpertRules kPlain{}, kNotNormalized{.normalize = false};
constexpr ExpertRules kSigmoid{.gating = Gating::sigmoid};
constexpr ExpertRules kSigmoidAsIs{.gating = Gating::sigmoid, .normalize = false};
constexpr ExpertRules kWideAsFfn{.width = ExpertWidth::ffn};

}  // namespace

extern const Architecture kBailingMoe, kBailingMoe2, kDbrx, kDeepSeek, kDots1, kErnie45Moe,
    kHunyuanMoe, kHunyuan3, kMiniMaxM2, kOlmoe;
constinit const Architecture kBailingMoe = decoder<ling, read<kNotNormalized>>("bailingmoe");
constinit const Architecture kBailingMoe2 =
    decoder<norm_then_halves, read<kSigmoidAsIs>>("bailingmoe2");
constinit const Architecture kDbrx =
    decoder<dbrx, read<kWideAsFfn, HparamsRules{.norm = NormKind::layer}>>("dbrx");
constinit const Architecture kDeepSeek = decoder<adjacent, read<kNotNormalized>>("deepseek");
constinit const Architecture kDots1 = decoder<norm_then_halves, read<kNotNormalized>>("dots1");
constinit const Architecture kErnie45Moe = decoder<adjacent, read<kPlain>>("ernie4_5-moe");
constinit const Architecture kHunyuanMoe =
    decoder<halves_then_norm, read<kWideAsFfn>>("hunyuan-moe");
constinit const Architecture kHunyuan3 = decoder<norm_then_halves, read<kSigmoidAsIs>>("hy_v3");
constinit const Architecture kMiniMaxM2 =
    decoder<norm_width_then_halves, read<kSigmoid>>("minimax-m2");
constinit const Architecture kOlmoe =
    decoder<norm_width_then_halves,
            read<ExpertRules{.normalize = false, .width = ExpertWidth::own_or_ffn}>>("olmoe");

}  // namespace weft::arch
