#pragma once
// For tests: an architecture whose layers change their view at different lengths: a window, a
// chunk of attention, a recurrent state with checkpoints, and a window beyond the tokens that the
// checks compute in a row.

#include <memory>

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/rows/views.h"

#include "support/tiny_model.h"

namespace weft::test {

using namespace arch;

inline constexpr std::int64_t kNearWindow = 40, kChunk = 48, kFarWindow = 240;

inline Tensor attend_bordered(const Layer& l, Tensor q, Tensor k, Tensor v) {
  const AttentionAttrs attrs{.scale = 0.25F};
  const Memory& memory = l.in.memory;
  switch (l.index) {
    case 0:
      return merge_heads(memory.window(kNearWindow).attend(l.index, q, k, v, attrs));
    case 1:
      return merge_heads(memory.chunks(kChunk).attend(l.index, q, k, v, attrs));
    case 2: {
      const Tensor y = merge_heads(q);
      return memory.recurrent("2", {l.hparams().H * l.hparams().E}).scan(scale(y, 0.3f), y);
    }
    default:
      return merge_heads(memory.window(kFarWindow).attend(l.index, q, k, v, attrs));
  }
}

inline Tensor see(const Layer& l, Tensor x) {
  const LayerHparams& n = l.hparams();
  const std::int64_t D = l.c.D;
  const Tensor q = split_heads(project(l.w, "attn_q", n.H * n.E, D, x), n.H);
  const Tensor k = split_heads(project(l.w, "attn_k", n.G * n.E, D, x), n.G);
  const Tensor v = split_heads(project(l.w, "attn_v", n.G * n.Ev, D, x), n.G);
  return project(l.w, "attn_output", D, n.H * n.E, attend_bordered(l, q, k, v));
}

inline Decoder bordered(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = {{.name = "attn", .pre_norm = "attn_norm", .block = see},
                    {.name = "ffn", .pre_norm = "ffn_norm", .block = swiglu}}};
}

inline std::shared_ptr<const Model> bordered_model() {
  static const auto model = [] {
    register_architecture(decoder<bordered>("bordered"));
    return tiny_model({.arch = "bordered", .sizes = {.L = 4}});
  }();
  return model;
}

}  // namespace weft::test
