// RWKV 7 ("Goose"): no attention. Time mixing keeps a matrix per head, changed by the delta rule;
// channel mixing is an ffn of relu squared; both see a mix of a token and the one before it. Layers
// after the first mix their values with those of the first one. ARWKV 7 has the same time mixing,
// with or without gate and norm of heads, and the norms and SwiGLU of Qwen 2. Sources: Peng et al.
// 2025, arXiv:2503.14456; Lin et al. 2025, arXiv:2501.15570.

#include <cmath>
#include <memory>

#include "weft/arch/decoder.h"
#include "weft/ops/attention/dot_heads.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/exp.h"
#include "weft/ops/elementwise/lerp.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/elementwise/sigmoid.h"
#include "weft/ops/elementwise/tanh.h"
#include "weft/ops/rows/scale_heads.h"
#include "weft/ops/rows/views.h"

#include "pages/rwkv.h"

namespace weft::arch {
namespace {

constexpr float kTiny = 1e-24f;  // keeps heads of zeros at zero

struct Rwkv7 : Hparams {
  std::int64_t decay_rank = 0, rate_rank = 0, value_rank = 0, gate_rank = 0;
  bool complete = true;  // gate and norm of heads are not optional
};

// low_rank(x) + NAME0.
Tensor biased_low_rank(const Layer& l, const std::string& name, std::int64_t rank, Act act,
                       Tensor x) {
  return add(rwkv::low_rank(l, name, rank, act, x), l.w(name + "0.weight", {l.c.D}));
}

// Between the values of this layer and those of the first one, which are kept in `first`.
Tensor mixed_values(const Layer& l, Tensor x, Tensor& first) {
  const auto& c = l.config<Rwkv7>();
  const Tensor v = project(l.w, "time_mix_value", c.D, c.D, x);
  if (l.index > 0)
    return lerp(v, first, sigmoid(biased_low_rank(l, "time_mix_v", c.value_rank, nullptr, x)));
  for (const char* name : {"time_mix_v0.weight", "time_mix_v1.weight", "time_mix_v2.weight"})
    l.w.ignore(name);
  return first = v;
}

// exp(-sigmoid(..) / sqrt(e)): at most half of what a head holds is lost per token.
Tensor decay(const Layer& l, Tensor x) {
  const auto& c = l.config<Rwkv7>();
  const Tensor y = sigmoid(biased_low_rank(
      l, "time_mix_w", c.decay_rank, [](Tensor t) { return tanh(t); }, x));
  return exp(scale(y, -std::exp(-0.5f)));
}

// The value of the token itself, weighted by how well its key matches: [T, H, E].
Tensor bonus(const Layer& l, Tensor r, Tensor k, Tensor v) {
  const std::int64_t H = l.hparams().H;
  const Tensor weighted = mul(k, l.w("time_mix_r_k.weight", {l.c.D}));
  return scale_heads(split_heads(v, H), dot_heads(split_heads(weighted, H), split_heads(r, H)));
}

Tensor time_mix(const Layer& l, Tensor x, Tensor& first_values) {
  const auto& c = l.config<Rwkv7>();
  const LayerHparams& n = l.hparams();
  const std::int64_t D = c.D;
  const bool gated = c.complete || (c.gate_rank > 0 && l.w.has("time_mix_g1.weight"));
  const Tensor weights = rwkv::mix_weights(l, "time_mix_lerp_fused", gated ? 6 : 5);
  const std::vector<Tensor> in = rwkv::mixes(x, rwkv::shifted(l, "attn", x), weights);
  const auto heads = [&](Tensor y) { return split_heads(y, n.H); };

  const Tensor r = project(l.w, "time_mix_receptance", D, D, in[0]);
  const Tensor w = decay(l, in[1]);
  Tensor k = project(l.w, "time_mix_key", D, D, in[2]);
  const Tensor v = mixed_values(l, in[3], first_values);
  // The rate at which the layer learns: how much of the old value a new one replaces.
  const Tensor a = sigmoid(biased_low_rank(l, "time_mix_a", c.rate_rank, nullptr, in[4]));
  const Tensor removed =
      unit_heads(split_heads(mul(k, l.w("time_mix_k_k.weight", {D})), n.H), kTiny);
  k = lerp(k, mul(k, a), l.w("time_mix_k_a.weight", {D}));

  const Recurrent state = l.in.memory.recurrent(fmt::format("wkv.{}", l.index), {n.H, n.E, n.E});
  Tensor y = state.delta_rule({.q = heads(r),
                               .k = heads(k),
                               .v = heads(v),
                               .decay = heads(w),
                               .remove = scale(removed, -1),
                               .write = mul(removed, heads(a))});  // [T, H, E]
  const bool normed = c.complete || l.w.has("time_mix_ln.weight");
  y = normed ? rwkv::norm_of_heads(l, y) : merge_heads(y);
  y = add(y, merge_heads(bonus(l, r, k, v)));
  if (gated) y = mul(y, rwkv::low_rank(l, "time_mix_g", c.gate_rank, act::sigmoid, in[5]));
  return project(l.w, "time_mix_output", D, D, y);
}

// time_mix() of layers that share the values of the first one.
Block time_mix_block() {
  return [first = std::make_shared<Tensor>()](const Layer& l, Tensor x) {
    return time_mix(l, x, *first);
  };
}

Tensor channel_mix(const Layer& l, Tensor x) {
  const std::int64_t D = l.c.D, F = l.hparams().F;
  const Tensor w = l.w("channel_mix_lerp_k.weight", {D});
  const Tensor k = project(l.w, "channel_mix_key", F, D, lerp(x, rwkv::shifted(l, "ffn", x), w));
  return project(l.w, "channel_mix_value", D, F, act::relu_squared(k));
}

Decoder rwkv7(const Rwkv7&) {
  return {.embedding_norm = "token_embd_norm",
          .layer = pre_norm_layer(time_mix_block(), channel_mix, "attn_norm_2")};
}

Decoder arwkv7(const Rwkv7&) {
  return {.layer = pre_norm_layer(time_mix_block(), swiglu)};
}

Rwkv7 read(const Keys& keys, NormKind norm, std::int64_t n_shifts) {
  Rwkv7 c{read_hparams(keys, {.norm = norm, .min_H = 0, .min_G = 0})};
  rwkv::read_heads(keys, c, n_shifts);
  c.decay_rank = rwkv::read_rank(keys, "attention.decay_lora_rank");
  c.rate_rank = rwkv::read_rank(keys, "attention.iclr_lora_rank");
  c.value_rank = rwkv::read_rank(keys, "attention.value_residual_mix_lora_rank");
  return c;
}

Rwkv7 read_rwkv7(const Keys& keys) {
  Rwkv7 c = read(keys, NormKind::layer, 2);
  c.gate_rank = rwkv::read_rank(keys, "attention.gate_lora_rank");
  return c;
}

Rwkv7 read_arwkv7(const Keys& keys) {
  Rwkv7 c = read(keys, NormKind::rms, 1);
  c.complete = false;
  c.gate_rank = keys.size_or("attention.gate_lora_rank", 0, rwkv::kMaxWidth, 0);
  return c;
}

}  // namespace

extern const Architecture kArwkv7, kRwkv7;
// A layer for drafts would lack the values of the first layer.
constinit const Architecture kArwkv7 = without_draft(decoder<arwkv7, read_arwkv7>("arwkv7"));
constinit const Architecture kRwkv7 = without_draft(decoder<rwkv7, read_rwkv7>("rwkv7"));

}  // namespace weft::arch
