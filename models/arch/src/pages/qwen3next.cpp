// Qwen3-Next and Qwen3.5: three of four layers are gated delta nets, the others attention with a
// gate for every element; dense, or with experts and a shared one that has its own gate.
// Sources: https://huggingface.co/Qwen/Qwen3-Next-80B-A3B-Instruct; Yang et al. 2024,
// arXiv:2412.06464.

#include <array>
#include <cmath>
#include <vector>

#include "weft/arch/decoder.h"
#include "weft/arch/delta_net.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/exp.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/rows/concat.h"
#include "weft/ops/rows/repeat_heads.h"
#include "weft/ops/rows/slice_heads.h"
#include "weft/ops/rows/views.h"

namespace weft::arch {
namespace {

// The delta nets have fewer key heads than value heads. Value head h uses key head h % key_heads;
// or, if the value heads of a key head are neighbours, h / (value_heads / key_heads).
struct Hybrid : Hparams {
  std::int64_t taps = 0;      // width of the convolution
  std::int64_t N = 0, P = 0;  // elements of a key head and of a value head
  std::int64_t key_heads = 0, value_heads = 0;
  bool neighbours = false;
};

// The rows of attn_q are query and gate, by head.
Tensor gated_attention(const Layer& l, Tensor x) {
  const LayerHparams& n = l.hparams();
  const std::int64_t D = l.c.D;
  const auto step = [&](std::string_view name, Tensor y) {
    return rope_halves(l, name, norm_heads(l, name, y));
  };
  const Heads rows = project_rows(l, x, n.H * 2 * n.E, n.G * n.E, n.G * n.Ev);
  const Tensor both = split_heads(rows.q, n.H);
  const Tensor q = step("attn_q", slice_heads(both, 0, n.E));
  const Tensor k = step("attn_k", split_heads(rows.k, n.G));
  const Tensor v = split_heads(rows.v, n.G);
  const float factor = 1 / std::sqrt(static_cast<float>(n.E));
  const Tensor y = l.in.memory.attend(l.index, q, k, v, {.scale = factor});
  const Tensor gated = mul(y, act::sigmoid(slice_heads(both, n.E, 2 * n.E)));
  return project(l.w, "attn_output", D, n.H * n.Ev, merge_heads(gated));
}

// What a delta net projects.
struct Projections {
  Tensor qkv;          // [T, 2 * key_heads * N + value_heads * P]
  Tensor gate;         // [T, value_heads * P]
  Tensor alpha, beta;  // [T, value_heads]
};

Projections projections(const Layer& l, const Hybrid& c, Tensor x) {
  const std::int64_t keys = c.key_heads * c.N, values = c.value_heads * c.P;
  Projections p;
  // One matrix, by key head: q, k, and v and gate of its value heads.
  if (l.w.has("ssm_in.weight")) {
    const Tensor all =
        split_heads(project(l.w, "ssm_in", 2 * (keys + values), c.D, x), c.key_heads);
    const std::int64_t v = 2 * c.N, gate = v + values / c.key_heads;
    const auto part = [&](std::int64_t begin, std::int64_t end) {
      return merge_heads(slice_heads(all, begin, end));
    };
    p.qkv = concat(std::array{part(0, c.N), part(c.N, v), part(v, gate)});
    p.gate = part(gate, gate + values / c.key_heads);
  } else {
    p.qkv = project(l.w, "attn_qkv", 2 * keys + values, c.D, x);
    p.gate = project(l.w, "attn_gate", values, c.D, x);
  }
  if (c.neighbours) {
    const std::int64_t n = c.value_heads / c.key_heads;
    const Tensor both = split_heads(project(l.w, "ssm_ba", 2 * c.value_heads, c.D, x), c.key_heads);
    p.beta = merge_heads(slice_heads(both, 0, n));
    p.alpha = merge_heads(slice_heads(both, n, 2 * n));
  } else {
    p.beta = project(l.w, "ssm_beta", c.value_heads, c.D, x);
    p.alpha = project(l.w, "ssm_alpha", c.value_heads, c.D, x);
  }
  return p;
}

// The key head of every value head: x [T, key_heads * N] -> [T, value_heads, N].
Tensor spread(const Hybrid& c, Tensor x) {
  if (c.neighbours) return repeat_heads(split_heads(x, c.key_heads), c.value_heads);
  const auto n = static_cast<std::size_t>(c.value_heads / c.key_heads);
  return split_heads(concat(std::vector<Tensor>(n, x)), c.value_heads);
}

Tensor delta_net(const Layer& l, Tensor x) {
  const auto& c = l.config<Hybrid>();
  const std::int64_t keys = c.key_heads * c.N, values = c.value_heads * c.P;
  const Projections p = projections(l, c, x);
  const Tensor qkv = convolve(l, "ssm_conv1d", c.taps, p.qkv);
  const Tensor log_decay = mul(act::softplus(add(p.alpha, l.w("ssm_dt.bias", {c.value_heads}))),
                               l.w("ssm_a", {c.value_heads}));
  Tensor y =
      delta_attention(l, {.q = spread(c, slice(qkv, 0, keys)),
                          .k = spread(c, slice(qkv, keys, 2 * keys)),
                          .v = split_heads(slice(qkv, 2 * keys, 2 * keys + values), c.value_heads),
                          .decay = exp(log_decay),
                          .beta = act::sigmoid(p.beta)});
  y = mul(norm(l.w, "ssm_norm", l.c, y), act::silu(split_heads(p.gate, c.value_heads)));
  return project(l.w, "ssm_out", c.D, values, merge_heads(y));
}

Decoder describe(const Hybrid& c) {
  return {.rope = {.attrs = c.rope}, .layer_of = [&c](std::int64_t i) {
            const Block mixer = c.layer(i).G == 0 ? delta_net : gated_attention;
            return pre_norm_layer(mixer, Moe{}, "post_attention_norm");
          }};
}

Hybrid read(const Keys& keys, std::int64_t min_F) {
  constexpr std::int64_t kMaxHeads = 4096;
  Hybrid c{read_hparams(keys, {.min_G = 0, .min_F = min_F})};
  read_recurrent_layers(keys, c, 4);
  c.taps = read_taps(keys, "ssm.conv_kernel");
  c.N = read_state_width(keys, "ssm.state_size");
  c.key_heads = keys.count("ssm.group_count", kMaxHeads);
  c.value_heads = keys.count("ssm.time_step_rank", kMaxHeads);
  const std::int64_t width = keys.count("ssm.inner_size", std::int64_t{1} << 24);
  if (c.value_heads % c.key_heads != 0)
    keys.refuse("ssm.group_count", c.key_heads,
                fmt::format("a divisor of the {} value heads (ssm.time_step_rank)", c.value_heads));
  if (width % c.value_heads != 0)
    keys.refuse(
        "ssm.inner_size", width,
        fmt::format("a multiple of the {} value heads (ssm.time_step_rank)", c.value_heads));
  c.P = width / c.value_heads;
  return c;
}

template <bool neighbours>
Hybrid read_moe(const Keys& keys) {
  Hybrid c = read(keys, 0);
  c.neighbours = neighbours;
  read_experts(keys, c, {.required = true});
  if (c.experts.shared_F == 0) c.experts.shared_F = c.layer(0).F;
  return c;
}

Hybrid read_dense(const Keys& keys) {
  Hybrid c = read(keys, 1);
  require_dense(keys, c);
  read_sections(keys, c, true);
  return c;
}

Hybrid read_sections_and_moe(const Keys& keys) {
  Hybrid c = read_moe<false>(keys);
  read_sections(keys, c, true);
  return c;
}

}  // namespace

extern const Architecture kQwen3Next, kQwen35, kQwen35Moe;
constinit const Architecture kQwen3Next = decoder<describe, read_moe<true>>("qwen3next");
constinit const Architecture kQwen35 = decoder<describe, read_dense>("qwen35");
constinit const Architecture kQwen35Moe = decoder<describe, read_sections_and_moe>("qwen35moe");

}  // namespace weft::arch
