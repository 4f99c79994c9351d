// Gemma 3n: four residual streams. Attention and ffn see the first; the others are
// predicted before a layer and corrected after it (AltUp). A path of low rank beside attention
// (Laurel), a sparse ffn in the first layers, a vector per token and layer, and keys and values
// that the last layers share. Sources: Google DeepMind 2025, Gemma 3n model card; Baykal et al.
// 2023, arXiv:2301.13310 (AltUp); Menghani et al. 2024, arXiv:2411.07501 (Laurel).

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/add.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/scale.h"
#include "weft/ops/ids/gaussian_top_k.h"
#include "weft/ops/rows/get_rows.h"

#include "decoder/altup.h"
#include "decoder/layer_inputs.h"
#include "decoder/root.h"

namespace weft::arch {
namespace {

constexpr std::int64_t kRank = 64;
constexpr std::int64_t kSparseLayers = 10, kOwnCells = 20;  // the first layers
constexpr float kDeviations = 1.6448533535003662f;          // 5 % of a normal distribution
constexpr float kLogitsCap = 30;  // the engines whose files these are ignore the key

struct Gemma3n : Hparams {
  RopeAttrs local_rope = {};
  std::int64_t P = 0;  // width of the vectors per token and layer
};

Tensor laurel(const Layer& l, Tensor x) {
  const Tensor inner = project(l.w, "laurel_l", kRank, l.c.D, x);
  return add(x, norm(l.w, "laurel_post_norm", l.c, project(l.w, "laurel_r", l.c.D, kRank, inner)));
}

Tensor ffn(const Layer& l, Tensor x) {
  if (l.index >= kSparseLayers) return Ffn{act::gelu}(l, x);
  const auto [gate, up] = project_gate_up(l, x);
  const Tensor y = mul(act::gelu(gaussian_top_k(gate, kDeviations)), up);
  return project(l.w, "ffn_down", l.c.D, l.hparams().F, y);
}

Streams layer(const Layer& l, const Streams& streams, Tensor inputs) {
  const Attention attention{
      .q_and_k = {norm_heads, rope_halves}, .scale = 1, .values = norm_heads_unweighted};
  const Streams predicted = predict(l, streams);
  const Tensor x = norm(l.w, "attn_norm", l.c, predicted[0]);
  Tensor h = add(predicted[0], norm(l.w, "post_attention_norm", l.c, attention(l, x)));
  h = scale(add(h, laurel(l, x)), 1 / root(2));
  h = add(h, norm(l.w, "post_ffw_norm", l.c, ffn(l, norm(l.w, "ffn_norm", l.c, h))));
  Streams next = correct(l, predicted, h);
  const Tensor scaled = mul(next[0], l.w("altup_correct_scale.weight", {l.c.D}));
  const Tensor more = gated_layer_input(l, scaled, inputs);
  for (std::size_t i = 1; i < next.size(); ++i) next[i] = add(next[i], more);
  return next;
}

Tensor build(const Weights& w, const Gemma3n& c, const Inputs& in) {
  const Tensor embd = w("token_embd.weight", {c.V, c.D});
  const Tensor angles = rope_angles(in.pos, c.rope),
               local_angles = rope_angles(in.pos, c.local_rope);
  const Tensor h = scale(get_rows(embd, in.tokens), root(c.D));
  const Tensor inputs = layer_inputs(w, c, in, c.P, h);
  Streams streams = first_streams(w, h);
  for (std::int64_t i = 0; i < c.L; ++i) {
    const Weights blk = w.block(i);
    const bool local = c.layer(i).rope == LayerRope::second;
    streams = layer({blk, c, in, i, local ? local_angles : angles}, streams, inputs);
  }
  const Tensor out = head(w, c, mean_of(w, streams), embd, in);
  return in.embeddings ? out : softcap(out, kLogitsCap);
}

Gemma3n read(const Keys& keys) {
  Gemma3n c{read_usual<>(keys)};
  read_windows(keys, c, 5);
  c.local_rope = read_local_rope(keys, c, 10000);
  read_shared_kv(keys, c, std::max<std::int64_t>(0, c.L - kOwnCells));
  c.P = keys.count_or("embedding_length_per_layer_input", 1 << 16, 256);
  return c;
}

}  // namespace

extern const Architecture kGemma3n;
constinit const Architecture kGemma3n = architecture<build, read>("gemma3n");

}  // namespace weft::arch
