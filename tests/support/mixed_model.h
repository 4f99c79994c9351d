#pragma once
// For tests: an architecture of four layers that remember in different ways: a window of keys and
// values, a recurrent state, one latent vector per token, and all keys and values.

#include <memory>

#include "weft/arch/decoder.h"
#include "weft/ops/scale.h"
#include "weft/ops/views.h"

#include "support/tiny_model.h"

namespace weft::test {

inline constexpr std::int64_t kMixedWindow = 40;

inline Tensor attend_mixed(const Layer& l, Tensor q, Tensor k, Tensor v) {
  const AttentionAttrs attrs{.scale = 0.25F};
  switch (l.index) {
    case 0:
      return merge_heads(l.in.memory.window(kMixedWindow).attend(l.index, q, k, v, attrs));
    case 1: {
      // The decay and the input, as wide as all heads together.
      const Tensor y = merge_heads(q);
      return l.in.memory.recurrent("1", {l.hparams().H * l.hparams().E}).scan(scale(y, 0.3f), y);
    }
    case 2:
      return merge_heads(l.in.memory.attend_latent(l.index, q, k, attrs));
    default:
      return merge_heads(l.in.memory.attend(l.index, q, k, v, attrs));
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
  static const auto model = tiny_model({.arch = "mixed", .layers = 4});
  return model;
}

}  // namespace weft::test
