#include "weft/arch/latent_attention.h"

#include <algorithm>
#include <cmath>

#include "weft/ops/projections/head_linear.h"
#include "weft/ops/rows/concat_heads.h"
#include "weft/ops/rows/slice_heads.h"
#include "weft/ops/rows/views.h"

namespace weft::arch {
namespace {

constexpr std::int64_t kMaxLatentWidth = 1 << 20;

struct Parts {
  Tensor q_latent;   // [T, q_rank], or none
  Tensor q, q_rope;  // [T, H, E - R], [T, H, R]
  Tensor c, k_rope;  // [T, kv_rank], [T, 1, R]
};

// Queries, the latent vector, and the part of keys that all heads share.
Parts parts_of(const Layer& l, const LatentAttention& a, Tensor x) {
  const LatentHparams& n = a.n;
  const std::int64_t R = l.c.rope.n_rot;
  const std::int64_t H = l.hparams().H, width = H * n.E;
  const auto changed = [&](std::string_view name, Tensor latent) {
    return a.latents ? a.latents(l, name, latent) : latent;
  };
  Parts p;
  if (n.q_rank > 0 && !l.w.has("attn_q.weight")) {
    const Tensor latent = changed("attn_q_a", project(l.w, "attn_q_a", n.q_rank, l.c.D, x));
    p.q_latent = norm(l.w, "attn_q_a_norm", l.c, latent);
  }
  const Tensor q = split_heads(p.q_latent ? project(l.w, "attn_q_b", width, n.q_rank, p.q_latent)
                                          : project(l.w, "attn_q", width, l.c.D, x),
                               H);
  const Tensor kv = project(l.w, "attn_kv_a_mqa", n.kv_rank + R, l.c.D, x);
  p.c = norm(l.w, "attn_kv_a_norm", l.c, changed("attn_kv_a", slice(kv, 0, n.kv_rank)));
  p.q = slice_heads(q, 0, n.E - R);
  p.q_rope = slice_heads(q, n.E - R, n.E);
  p.k_rope = split_heads(slice(kv, n.kv_rank, n.kv_rank + R), 1);
  if (a.rope) {
    p.q_rope = a.rope(l, "attn_q", p.q_rope);
    p.k_rope = a.rope(l, "attn_k", p.k_rope);
  }
  return p;
}

}  // namespace

float read_score_scale(const Keys& keys, const Hparams& c, const LatentHparams& n) {
  const float log_multiplier = keys.number_or("rope.scaling.yarn_log_multiplier", 0, 1e3, 0) / 0.1f;
  const float factor = keys.number_or("rope.scaling.attn_factor", -1e6, 1e6, 1);
  const float scores = factor * yarn_magnitude(1 / c.rope.freq_scale, 0.1f * log_multiplier);
  return scores * scores / std::sqrt(static_cast<float>(n.E));
}

LatentHparams read_latent(const Keys& keys, const Hparams& c) {
  LatentHparams n;
  n.q_rank = keys.size_or("attention.q_lora_rank", 0, kMaxLatentWidth, 0);
  n.kv_rank = keys.count("attention.kv_lora_rank", kMaxLatentWidth);
  n.E = keys.count_or("attention.key_length_mla", kMaxLatentWidth, c.layer(0).E);
  n.Ev = keys.count_or("attention.value_length_mla", kMaxLatentWidth, c.layer(0).Ev);
  if (c.rope.n_rot >= n.E)
    keys.refuse("rope.dimension_count", c.rope.n_rot, fmt::format("below the {} of a head", n.E));
  return n;
}

Tensor LatentAttention::operator()(const Layer& l, Tensor x) const {
  const std::int64_t H = l.hparams().H, R = l.c.rope.n_rot;
  const AttentionAttrs attrs{scale.value_or(1 / std::sqrt(static_cast<float>(n.E)))};
  const auto tempered = [&](Tensor q) {
    return temperature ? attention_temperature(q, l.in.pos, *temperature) : q;
  };
  const Parts p = parts_of(l, *this, x);
  const Memory seen = memory ? memory(l, x, p.q_latent) : l.in.memory;
  Tensor y;  // [T, H, Ev]
  if (l.w.has("attn_kv_b.weight") && !beside) {
    const std::int64_t fixed = n.E - R, width = fixed + n.Ev;
    Tensor kv = split_heads(project(l.w, "attn_kv_b", H * width, n.kv_rank, p.c), H);
    Tensor k = concat_heads(slice_heads(kv, 0, fixed), p.k_rope);
    Tensor v = slice_heads(kv, fixed, width);
    y = seen.attend(l.index, tempered(concat_heads(p.q, p.q_rope)), k, v, attrs);
  } else {
    const Tensor k_b = l.w.stacked("attn_k_b.weight", {H, n.kv_rank, n.E - R});
    const Tensor v_b = l.w.stacked("attn_v_b.weight", {H, n.Ev, n.kv_rank});
    Tensor q = tempered(concat_heads(head_linear(p.q, k_b), p.q_rope));  // [T, H, kv_rank + R]
    Tensor cell = concat_heads(split_heads(p.c, 1), p.k_rope);           // [T, 1, kv_rank + R]
    y = beside ? seen.attend_beside(l.index, q, cell, attrs, beside(l))
               : seen.attend_latent(l.index, q, cell, attrs);
    y = head_linear(slice_heads(y, 0, n.kv_rank), v_b);
  }
  for (const OutputStep step : output) y = step ? step(l, x, y) : y;
  return project(l.w, "attn_output", l.c.D, H * n.Ev, merge_heads(y));
}

}  // namespace weft::arch
