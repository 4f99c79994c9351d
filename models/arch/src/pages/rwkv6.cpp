// RWKV 6 ("Finch"): no attention. Time mixing keeps a matrix per head, with a decay of every row
// that depends on the token; channel mixing is an ffn of relu squared with a gate; both see a mix
// of a token and the one before it. QRWKV 6 is Qwen 2 with such time mixing in place of attention:
// no bonus, no norm of heads, fewer key and value heads. Sources: Peng et al. 2024,
// arXiv:2404.05892; https://huggingface.co/recursal/QRWKV6-32B-Instruct-Preview-v0.1.

#include <cmath>

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/exp.h"
#include "weft/ops/elementwise/lerp.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/elementwise/tanh.h"
#include "weft/ops/projections/head_linear.h"
#include "weft/ops/rows/repeat_heads.h"
#include "weft/ops/rows/views.h"

#include "pages/rwkv.h"

namespace weft::arch {
namespace {

constexpr std::int64_t kMixes = 5;  // inputs of decay, key, value, receptance and gate

struct Rwkv6 : Hparams {
  std::int64_t mix_rank = 0, decay_rank = 0;
  std::int64_t halve_every = 0;  // layers; 0: never
};

// The weights of a token and the one before it, which depend on both: [T, kMixes, D].
Tensor token_weights(const Layer& l, Tensor x, Tensor previous) {
  const auto& c = l.config<Rwkv6>();
  const std::int64_t D = c.D, R = c.mix_rank;
  const Tensor mixed = lerp(x, previous, l.w("time_mix_lerp_x.weight", {D}));
  const Tensor low = tanh(project(l.w, "time_mix_w1", kMixes * R, D, mixed));
  return head_linear(split_heads(low, kMixes), l.w("time_mix_w2.weight", {kMixes, D, R}));
}

// The inputs of the projections. Early files have a vector for each of them.
std::vector<Tensor> mixed_inputs(const Layer& l, Tensor x) {
  const std::int64_t D = l.c.D;
  const Tensor previous = rwkv::shifted(l, "attn", x);
  const Tensor w = token_weights(l, x, previous);
  if (!l.w.has("time_mix_lerp_w.weight"))
    return rwkv::mixes(x, previous, add(w, rwkv::mix_weights(l, "time_mix_lerp_fused", kMixes)));
  std::vector<Tensor> each;
  for (const char name : {'w', 'k', 'v', 'r', 'g'}) {
    const auto at = static_cast<std::int64_t>(each.size()) * D;
    const Tensor own = l.w(fmt::format("time_mix_lerp_{}.weight", name), {D});
    each.push_back(lerp(x, previous, add(slice(merge_heads(w), at, at + D), own)));
  }
  return each;
}

// exp(-exp(..)): the factors of the rows of the heads' matrices, [T, H, E].
Tensor decay(const Layer& l, Tensor x) {
  const auto& c = l.config<Rwkv6>();
  const auto act = [](Tensor y) { return tanh(y); };
  const Tensor y = add(rwkv::low_rank(l, "time_mix_decay_w", c.decay_rank, act, x),
                       l.w("time_mix_decay.weight", {c.D}));
  return split_heads(exp(scale(exp(y), -1)), l.hparams().H);
}

Recurrent wkv_state(const Layer& l) {
  const LayerHparams& n = l.hparams();
  return l.in.memory.recurrent(fmt::format("wkv.{}", l.index), {n.H, n.E, n.E});
}

Tensor time_mix(const Layer& l, Tensor x) {
  const LayerHparams& n = l.hparams();
  const std::int64_t D = l.c.D;
  const std::vector<Tensor> in = mixed_inputs(l, x);
  const auto heads = [&](std::string_view name, Tensor y) {
    return split_heads(project(l.w, name, D, D, y), n.H);
  };
  const Tensor w = decay(l, in[0]), k = heads("time_mix_key", in[1]);
  const Tensor v = heads("time_mix_value", in[2]), r = heads("time_mix_receptance", in[3]);
  const Tensor gate = act::silu(project(l.w, "time_mix_gate", D, D, in[4]));
  const Tensor bonus = l.w("time_mix_first.weight", {n.H, n.E});
  const Tensor y = wkv_state(l).gated_linear_attention(r, k, v, w, bonus);  // [T, H, E]
  return project(l.w, "time_mix_output", D, D, mul(rwkv::norm_of_heads(l, y), gate));
}

Tensor channel_mix(const Layer& l, Tensor x) {
  const std::int64_t D = l.c.D, F = l.hparams().F;
  const Tensor previous = rwkv::shifted(l, "ffn", x);
  const auto mixed = [&](const char* name) { return lerp(x, previous, l.w(name, {D})); };
  const Tensor k = project(l.w, "channel_mix_key", F, D, mixed("channel_mix_lerp_k.weight"));
  const Tensor r = project(l.w, "channel_mix_receptance", D, D, mixed("channel_mix_lerp_r.weight"));
  const Tensor y = project(l.w, "channel_mix_value", D, F, act::relu_squared(k));
  return mul(y, act::sigmoid(r));
}

// Halving keeps activations in the range of F16; files hold output matrices that match.
Tensor layer(const Layer& l, Tensor h) {
  h = add(h, time_mix(l, norm(l.w, "attn_norm", l.c, h))).named("attn_residual");
  h = add(h, channel_mix(l, norm(l.w, "attn_norm_2", l.c, h))).named("ffn_residual");
  const std::int64_t every = l.config<Rwkv6>().halve_every;
  return every > 0 && (l.index + 1) % every == 0 ? scale(h, 0.5f) : h;
}

Decoder rwkv6(const Rwkv6&) {
  return {.embedding_norm = "token_embd_norm", .whole_layer = layer};
}

// Keys shrink by what decays, so that the matrices are weighted means of their products.
Tensor linear_attention(const Layer& l, Tensor x) {
  const LayerHparams& n = l.hparams();
  const std::int64_t D = l.c.D;
  const std::vector<Tensor> in = mixed_inputs(l, x);
  const auto kv_heads = [&](std::string_view name, Tensor y) {
    const Tensor each = split_heads(project(l.w, name, n.G * n.E, D, y), n.G);
    return n.G == n.H ? each : repeat_heads(each, n.H);
  };
  const Tensor w = decay(l, in[0]), v = kv_heads("time_mix_value", in[2]);
  Tensor k = kv_heads("time_mix_key", in[1]);
  k = add(k, scale(mul(k, w), -1));
  const Tensor r = split_heads(project(l.w, "time_mix_receptance", D, D, in[3]), n.H);
  const Tensor gate = act::sigmoid(project(l.w, "time_mix_gate", D, D, in[4]));
  const Tensor y = scale(wkv_state(l).gated_linear_attention(r, k, v, w),
                         1 / std::sqrt(static_cast<float>(n.E)));
  return project(l.w, "time_mix_output", D, D, mul(merge_heads(y), gate));
}

Decoder qrwkv6(const Rwkv6&) {
  return {.layer = pre_norm_layer(linear_attention, swiglu)};
}

Rwkv6 read(const Keys& keys, NormKind norm, std::int64_t n_shifts) {
  Rwkv6 c{read_hparams(keys, {.norm = norm, .min_H = 0, .min_G = 0})};
  rwkv::read_heads(keys, c, n_shifts);
  c.mix_rank = rwkv::read_rank(keys, "time_mix_extra_dim");
  c.decay_rank = rwkv::read_rank(keys, "time_decay_extra_dim");
  return c;
}

Rwkv6 read_rwkv6(const Keys& keys) {
  Rwkv6 c = read(keys, NormKind::layer, 2);
  c.halve_every = keys.size_or("rescale_every_n_layers", 0, INT32_MAX, 0);
  return c;
}

Rwkv6 read_qrwkv6(const Keys& keys) {
  Rwkv6 c = read(keys, NormKind::rms, 1);
  keys.size_or("rescale_every_n_layers", 0, 0, 0);
  const auto groups = keys.find_counts("attention.head_count_kv", c.L, 0, rwkv::kMaxWidth);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    LayerHparams& n = c.layers[i];
    if (groups[i] == 0) continue;  // as many as H
    if (n.H % groups[i] != 0)
      keys.refuse("attention.head_count_kv", groups[i],
                  fmt::format("a divisor of the {} heads of {} elements", n.H, n.E));
    n.G = groups[i];
  }
  return c;
}

}  // namespace

extern const Architecture kRwkv6, kRwkv6Qwen2;
constinit const Architecture kRwkv6 = decoder<rwkv6, read_rwkv6>("rwkv6");
constinit const Architecture kRwkv6Qwen2 = decoder<qrwkv6, read_qrwkv6>("rwkv6qwen2");

}  // namespace weft::arch
