#pragma once
// For tests: an architecture of four layers that remember in different ways: a window of keys and
// values, recurrent states, one latent vector per token, and all keys and values, in the last layer
// also learned vectors.

#include <cmath>
#include <memory>

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/elementwise/sigmoid.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/rows/get_rows.h"
#include "weft/ops/rows/views.h"

#include "support/tiny_model.h"

namespace weft::test {

using namespace arch;

inline constexpr std::int64_t kMixedWindow = 40;

// All kinds of recurrent states, one after another: [T, H, E], [T, G, E], [T, G, E] -> [T, H * E].
inline Tensor recur(const Layer& l, Tensor q, Tensor k, Tensor v) {
  const std::int64_t H = l.hparams().H, E = l.hparams().E, width = H * E, N = 4;
  const auto state = [&](const char* name, const Shape& shape) {
    return l.in.memory.recurrent(fmt::format("{}.{}", l.index, name), shape);
  };
  const Tensor x = merge_heads(q);
  Tensor y = state("scan", {width}).scan(scale(x, 0.3f), x);  // the decay and the input
  y = state("conv", {width, 3}).causal_conv(y, l.w("conv.weight", {width, 4}));
  const Tensor decay = sigmoid(slice(y, 0, H));
  Tensor heads = state("linear", {H, E, E}).gated_linear_attention(k, v, split_heads(y, H), decay);
  const Tensor key = scale(rms_norm(q, 1e-5f), 1 / std::sqrt(static_cast<float>(E)));
  heads = state("delta", {H, E, E})
              .delta_rule({.q = q,
                           .k = key,
                           .v = heads,
                           .decay = decay,
                           .remove = key,
                           .write = scale(key, -1)});
  y = merge_heads(heads);
  return state("ssm", {width, N})
      .selective_scan(y, sigmoid(y), scale(sigmoid(l.w("decays.weight", {width, N})), -1),
                      slice(x, 0, N), slice(y, 0, N));
}

// Latent vectors, the first head of k, beside learned ones.
inline Tensor attend_learned(const Layer& l, Tensor q, Tensor k, const AttentionAttrs& attrs) {
  constexpr std::int64_t kLearned = 70;
  const std::int64_t E = l.hparams().E;
  const Memory& memory = l.in.memory;
  const Tensor learned =
      get_rows(l.w("learned.weight", {kLearned, E}), memory.fixed_places(kLearned));
  return memory.attend_beside(l.index, q, split_heads(slice(merge_heads(k), 0, E), 1), attrs,
                              memory.keep_fixed(l.index, split_heads(learned, 1)));
}

inline Tensor attend_mixed(const Layer& l, Tensor q, Tensor k, Tensor v) {
  const AttentionAttrs attrs{.scale = 0.25F};
  switch (l.index) {
    case 0:
      return merge_heads(l.in.memory.window(kMixedWindow).attend(l.index, q, k, v, attrs));
    case 1:
      return recur(l, q, k, v);
    case 2:
      return merge_heads(l.in.memory.attend_latent(l.index, q, k, attrs));
    default:
      return merge_heads(
          add(l.in.memory.attend(l.index, q, k, v, attrs), attend_learned(l, q, k, attrs)));
  }
}

inline Tensor remember(const Layer& l, Tensor x) {
  const LayerHparams& n = l.hparams();
  const std::int64_t D = l.c.D;
  Tensor q = split_heads(project(l.w, "attn_q", n.H * n.E, D, x), n.H);
  Tensor k = split_heads(project(l.w, "attn_k", n.G * n.E, D, x), n.G);
  Tensor v = split_heads(project(l.w, "attn_v", n.G * n.Ev, D, x), n.G);
  q = rope_adjacent(l, "attn_q", q);
  k = rope_adjacent(l, "attn_k", k);
  return project(l.w, "attn_output", D, n.H * n.E, attend_mixed(l, q, k, v));
}

inline Decoder mixed(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = {{.name = "attn", .pre_norm = "attn_norm", .block = remember},
                    {.name = "ffn", .pre_norm = "ffn_norm", .block = swiglu}}};
}

inline void register_mixed() {
  static const bool registered = [] {
    register_architecture(decoder<mixed>("mixed"));
    return true;
  }();
  static_cast<void>(registered);
}

inline std::shared_ptr<const Model> mixed_model() {
  register_mixed();
  static const auto model = tiny_model({.arch = "mixed", .sizes = {.L = 4}});
  return model;
}

}  // namespace weft::test
