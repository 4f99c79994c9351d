// DeepSeek V4: hyper-connections instead of a residual stream; attention to a window of latent
// vectors and, in most layers, to pooled ones of all tokens before: one per 4 tokens, of which an
// indexer chooses some, or one per 128. The experts of the first layers follow from the token
// alone. Source: DeepSeek-AI 2026, https://huggingface.co/deepseek-ai.

#include <cfloat>
#include <cmath>
#include <map>
#include <utility>

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/clamp.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/ops/ids/get_ids.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/projections/head_linear.h"
#include "weft/ops/rows/get_rows.h"
#include "weft/ops/rows/views.h"

#include "decoder/hyper_connections.h"
#include "decoder/pooled_tokens.h"

namespace weft::arch {
namespace {

constexpr std::int64_t kMax = 1 << 20;
constexpr std::int64_t kIndexedRatio = 4;  // tokens per pooled vector in layers with an indexer

struct DeepSeek4 : Hparams {
  std::int64_t q_rank = 0, window = 0;
  std::int64_t out_groups = 1, out_rank = 0;  // shape of the output projection
  std::vector<std::int64_t> ratios = {};      // by layer: tokens per pooled vector; 0: none
  RopeAttrs pooled_rope = {};                 // of layers with pooled vectors
  IndexerHparams indexer = {};                // chooses pooled vectors
  std::int64_t n_hashed = 0;                  // layers with a table of experts
  StreamWeightsAttrs streams = {};
};

Tensor pool(const Layer& l, std::string name, std::int64_t E, std::int64_t ratio,
            const SpanAngles& angles, Tensor x) {
  const std::int64_t parts = ratio == kIndexedRatio ? 2 : 1;
  return pool_span(l, {std::move(name), E, ratio, parts}, angles.span_start, x);
}

Chosen choose(const Layer& l, const Memory& memory, const SpanAngles& angles, Tensor x, Tensor q) {
  const auto& c = l.config<DeepSeek4>();
  const std::int64_t H = c.indexer.H, E = c.indexer.E;
  q = split_heads(project(l.w, "indexer.attn_q_b", H * E, c.q_rank, q), H);
  const Tensor k = pool(l, "indexer_compressor", E, kIndexedRatio, angles, x);
  return memory.choose(l.index, rotate_last(q, angles.rotate), k, {.k = c.indexer.top_k},
                       project(l.w, "indexer.proj", H, c.D, x));
}

Tensor attention(const Layer& l, const SpanAngles& angles, Tensor x) {
  const auto& c = l.config<DeepSeek4>();
  const std::int64_t H = l.hparams().H, E = l.hparams().E, G = c.out_groups;
  const std::int64_t ratio = c.ratios[static_cast<std::size_t>(l.index)];
  const Tensor q_latent = norm(l.w, "attn_q_a_norm", c, project(l.w, "attn_q_a", c.q_rank, c.D, x));
  Tensor q = split_heads(project(l.w, "attn_q_b", H * E, c.q_rank, q_latent), H);
  q = rotate_last(rms_norm(q, c.eps), angles.rotate);
  const Tensor cell = norm(l.w, "attn_kv_a_norm", c, project(l.w, "attn_kv", E, c.D, x));
  LatentRun more;
  if (ratio > 0) {
    Memory memory = l.in.memory.every(ratio);
    if (ratio == kIndexedRatio) memory = memory.chosen(choose(l, memory, angles, x, q_latent));
    more = memory.keep_latent(l.index, pool(l, "attn_compressor", E, ratio, angles, x));
  }
  Tensor y = l.in.memory.window(c.window).attend_latent(
      l.index, q, rotate_last(split_heads(cell, 1), angles.rotate),
      {.scale = 1 / std::sqrt(static_cast<float>(E))}, l.w("attn_sinks.weight", {H}), more);
  y = split_heads(merge_heads(rotate_last(y, angles.unrotate)), G);
  y = head_linear(y, l.w.stacked("attn_output_a.weight", {G, c.out_rank, H / G * E}));
  return project(l.w, "attn_output_b", c.D, G * c.out_rank, merge_heads(y));
}

// The limit of a gate comes before silu, as in the published Expert; unit::limited_swiglu has it
// behind.
Tensor limited(const Layer& l, const std::vector<float>& limits, Tensor gate, Tensor up) {
  const auto i = static_cast<std::size_t>(l.index);
  const float limit = i < limits.size() ? limits[i] : 0;
  if (limit == 0) return mul(silu(gate), up);
  return mul(silu(clamp(gate, -FLT_MAX, limit)), clamp(up, -limit, limit));
}
Tensor limited_routed(const Layer& l, Tensor gate, Tensor up) {
  return limited(l, l.c.experts.limits, gate, up);
}
Tensor limited_shared(const Layer& l, Tensor gate, Tensor up) {
  return limited(l, l.c.experts.shared_limits, gate, up);
}

ExpertChoice choose_by_token(const Layer& l, Tensor x) {
  const ExpertHparams& e = l.c.experts;
  const Tensor table = l.w("ffn_gate_tid2eid.weight", {l.c.V, e.K});
  const Tensor ids = get_ids(table, l.in.tokens, static_cast<std::int32_t>(e.X - 1));
  return weigh_experts(l, project(l.w, "ffn_gate_inp", e.X, l.c.D, x), ids);
}

Tensor ffn(const Layer& l, Tensor x) {
  const bool hashed = l.index < l.config<DeepSeek4>().n_hashed;
  const Tensor y =
      experts(l, x, hashed ? choose_by_token(l, x) : router_choice(l, x), limited_routed);
  return l.c.experts.shared_F > 0 ? add(y, shared_expert(l, x, limited_shared)) : y;
}

Tensor build(const Weights& w, const DeepSeek4& c, const Inputs& in) {
  const Tensor embd = w("token_embd.weight", {c.V, c.D});
  std::map<std::int64_t, SpanAngles> angles;  // by ratio
  for (const std::int64_t ratio : c.ratios) {
    if (!angles.contains(ratio))
      angles[ratio] = span_angles(in.pos, ratio > 0 ? c.pooled_rope : c.rope, ratio);
  }
  Tensor h = copy_to_streams(get_rows(embd, in.tokens), c.streams.n);
  for (std::int64_t i = 0; i < c.L; ++i) {
    const Weights blk = w.block(i);
    const Layer layer{blk, c, in, i, {}};
    const Block attend = normed("attn_norm", [&](const Layer& l, Tensor x) {
      return attention(l, angles[c.ratios[static_cast<std::size_t>(i)]], x);
    });
    h = connect(layer, "hc_attn", c.streams, attend, h);
    h = connect(layer, "hc_ffn", c.streams, normed("ffn_norm", ffn), h);
  }
  return head(w, c, read_streams(w, c, "output_hc", c.streams, h), embd, in);
}

void read_ratios(const Keys& keys, DeepSeek4& c) {
  constexpr std::string_view kKey = "attention.compress_ratios";
  c.ratios = keys.source().find_ints(keys.name(kKey));
  if (c.ratios.empty()) c.ratios = {keys.count(kKey, kMax)};
  if (c.ratios.size() == 1) c.ratios.resize(static_cast<std::size_t>(c.L), c.ratios[0]);
  if (std::ssize(c.ratios) < c.L)
    fail<FormatError>("{}: key '{}' has {} numbers, must have at least {} (one per layer)",
                      keys.source().file(), keys.name(kKey), c.ratios.size(), c.L);
  c.ratios.resize(static_cast<std::size_t>(c.L));
  for (const std::int64_t ratio : c.ratios) {
    if (ratio != 0 && ratio != kIndexedRatio && ratio != 128)
      keys.refuse(kKey, ratio, "0, 4 or 128");
  }
}

// YaRN stretches only the layers with pooled vectors, and does not change magnitudes.
void read_ropes(const Keys& keys, DeepSeek4& c) {
  constexpr std::string_view kFactor = "rope.scaling.attn_factor";
  const float factor = keys.number_or(kFactor, -1e6, 1e6, 1);
  if (factor != 1) keys.refuse(kFactor, factor, "1");
  c.pooled_rope = c.rope;
  c.pooled_rope.base = keys.number_or("attention.compress_rope_freq_base", 1e-3, 1e18, c.rope.base);
  c.pooled_rope.attn_factor =
      c.rope.ext_factor == 0 ? 1 : 1 / (1 + 0.1f * std::log(1 / c.rope.freq_scale));
  c.rope.freq_scale = c.rope.attn_factor = 1;
  c.rope.ext_factor = 0;
}

void read_attention(const Keys& keys, DeepSeek4& c) {
  const LayerHparams& first = c.layer(0);
  if (first.E != first.Ev)
    keys.refuse("attention.value_length", first.Ev,
                fmt::format("{}, as attention.key_length", first.E));
  c.q_rank = keys.count("attention.q_lora_rank", kMax);
  c.window = keys.count("attention.sliding_window", kMax);
  c.out_groups = keys.count("attention.output_group_count", kMax);
  for (const LayerHparams& layer : c.layers) {
    if (layer.H % c.out_groups != 0)
      keys.refuse("attention.output_group_count", c.out_groups,
                  fmt::format("a divisor of the {} heads", layer.H));
  }
  c.out_rank = keys.count("attention.output_lora_rank", kMax);
  c.indexer = read_indexer(keys, c);
}

// Files may count layers for multi-token prediction and have none.
void check_nextn(const Keys& keys, Hparams& c) {
  const std::string name = fmt::format("blk.{}.nextn.eh_proj.weight", c.L);
  if (c.n_nextn == 0 || keys.source().find_tensor(name)) return;
  c.L += std::exchange(c.n_nextn, 0);
}

DeepSeek4 read(const Keys& keys) {
  DeepSeek4 c{read_hparams(keys, {.min_F = 0})};
  check_nextn(keys, c);
  read_experts(keys, c, {.gating = Gating::sqrt_softplus, .required = true});
  read_expert_limits(keys, c);
  if (c.experts.shared_limits.empty()) c.experts.shared_limits = c.experts.limits;
  read_attention(keys, c);
  read_ratios(keys, c);
  read_ropes(keys, c);
  c.n_hashed = keys.size_or("hash_layer_count", 0, c.L, 0);
  c.streams = {.n = static_cast<std::int32_t>(keys.count("hyper_connection.count", kMaxStreams)),
               .iterations = static_cast<std::int32_t>(
                   keys.count("hyper_connection.sinkhorn_iterations", kMaxSinkhornIterations)),
               .eps = keys.number_or("hyper_connection.epsilon", 1e-30, 1, 1e-6f)};
  return c;
}

}  // namespace

extern const Architecture kDeepSeek4;
constinit const Architecture kDeepSeek4 = architecture<build, read>("deepseek4");

}  // namespace weft::arch
