// DeepSeek V3.2 and GLM-5: DeepSeek V3 (deepseek2.cpp) whose tokens attend to the positions that an
// indexer chooses. From GLM-5.2 on, most layers take the choice of an earlier one.
// Sources: DeepSeek-AI 2025, arXiv:2512.02556, section 2.1; GLM-5 Team 2026, arXiv:2602.15763.

#include <algorithm>
#include <cmath>

#include "weft/arch/decoder.h"
#include "weft/arch/latent_attention.h"
#include "weft/base/error.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/norms/layer_norm.h"
#include "weft/ops/rows/views.h"

namespace weft::arch {
namespace {

struct Sparse : Hparams {
  LatentHparams latent = {};
  float score_scale = 1;
  IndexerHparams indexer = {};
  std::vector<std::int64_t> chooses = {};  // 1: the layer has an indexer; 0: as the layer before
};

// The heads of the indexer begin with what rope turns.
Chosen choose(const Layer& l, const Sparse& c, HeadStep rope, Tensor x, Tensor q_latent) {
  constexpr float kEps = 1e-6f;
  const std::int64_t H = c.indexer.H, E = c.indexer.E;
  const Shape width{E};
  if (!q_latent)
    fail<ValueError>("layer {}: the indexer needs attn_q_a and attn_q_b, but the file has attn_q",
                     l.index);
  Tensor q = project(l.w, "indexer.attn_q_b", H * E, c.latent.q_rank, q_latent);
  Tensor k = layer_norm(project(l.w, "indexer.attn_k", E, c.D, x), kEps);
  k = add(mul(k, l.w("indexer.k_norm.weight", width)), l.w("indexer.k_norm.bias", width));
  return l.in.memory.choose(l.index, rope(l, "indexer_q", split_heads(q, H)),
                            rope(l, "indexer_k", split_heads(k, 1)), {.k = c.indexer.top_k},
                            project(l.w, "indexer.proj", H, c.D, x));
}

template <HeadStep rope>
Decoder sparse(const Sparse& c) {
  LatentAttention attention{.n = c.latent, .scale = c.score_scale};
  attention.memory = [&c, latest = std::make_shared<Chosen>()](const Layer& l, Tensor x, Tensor q) {
    if (c.chooses[static_cast<std::size_t>(l.index)]) *latest = choose(l, c, rope, x, q);
    return l.in.memory.chosen(*latest);
  };
  return {
      .rope = {.attrs = c.rope},
      .layer = pre_norm_layer(attention, Moe{}),
      .draft = {.next_normed = false},
      // Files may have these also in layers that take the choice of an earlier one.
      .unused_in_layers = {"indexer.attn_q_b.weight", "indexer.attn_k.weight",
                           "indexer.k_norm.weight", "indexer.k_norm.bias", "indexer.proj.weight"}};
}

Sparse read_sparse(const Keys& keys, const ExpertRules& rules) {
  Sparse c{read_hparams(keys)};
  c.latent = read_latent(keys, c);
  c.latent.q_rank = keys.count("attention.q_lora_rank", 1 << 20);  // the indexer needs it
  read_experts(keys, c, rules);
  // Magnitudes are those of mscale 1, which differs from mscale_all_dim in no published model.
  const float log_multiplier = keys.number_or("rope.scaling.yarn_log_multiplier", 0, 1e3, 0);
  const float stretch = 1 / c.rope.freq_scale;
  float ratio = 1;
  if (c.rope.ext_factor != 0 && log_multiplier != 0)
    ratio = yarn_magnitude(stretch) / yarn_magnitude(stretch, log_multiplier);
  c.rope.attn_factor *= ratio;
  c.score_scale = read_score_scale(keys, c, c.latent) * ratio * ratio;
  c.indexer = read_indexer(keys, c);
  c.chooses.assign(c.layers.size(), 1);
  return c;
}

Sparse read_deepseek(const Keys& keys) {
  return read_sparse(keys, {.normalize = false});
}

// Files of GLM-5.2 may lack indexer.types; their context of 2^20 tells them from earlier ones.
Sparse read_glm(const Keys& keys) {
  Sparse c = read_sparse(keys, {.gating = Gating::sigmoid, .normalize = false});
  for (std::int64_t i = 2; c.context >= 1 << 20 && i < c.L; ++i)
    c.chooses[static_cast<std::size_t>(i)] = i % 4 == 2;
  const auto types = keys.find_counts("attention.indexer.types", c.L, 0, 1);
  std::ranges::copy(types, c.chooses.begin());
  if (c.chooses[0] == 0) keys.refuse("attention.indexer.types", 0, "1 in the first layer");
  return c;
}

}  // namespace

extern const Architecture kDeepSeek32, kGlmDsa;
constinit const Architecture kDeepSeek32 =
    decoder<sparse<rope_halves>, read_deepseek>("deepseek32");
constinit const Architecture kGlmDsa = decoder<sparse<rope_adjacent>, read_glm>("glm-dsa");

}  // namespace weft::arch
