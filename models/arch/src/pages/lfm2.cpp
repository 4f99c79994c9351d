// LFM2: a few layers of attention among short convolutions with two gates; dense, or with experts
// behind a few dense layers. In encoders, convolutions and attention see later tokens, too.
// Source: Liquid AI 2025, arXiv:2511.23404.

#include <algorithm>

#include "weft/arch/decoder.h"
#include "weft/arch/delta_net.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/rows/views.h"

namespace weft::arch {
namespace {

struct Lfm2 : Hparams {
  std::int64_t taps = 0;  // width of the convolutions
};

Tensor mix_taps(const Layer& l, Tensor x, Tensor w) {
  if (!l.c.causal) return l.in.memory.both_ways().centred_conv(x, w);
  const std::int64_t D = w.shape()[0].bound, taps = w.shape()[1].bound;
  const Recurrent state =
      l.in.memory.recurrent(fmt::format("shortconv.{}", l.index), {D, taps - 1});
  return state.causal_conv(x, w);
}

Tensor convolution(const Layer& l, Tensor x) {
  const std::int64_t D = l.c.D, taps = l.config<Lfm2>().taps;
  const Tensor all = project(l.w, "shortconv.in_proj", 3 * D, D, x);
  const Tensor before = slice(all, 0, D), after = slice(all, D, 2 * D),
               y = slice(all, 2 * D, 3 * D);
  const Tensor mixed =
      mix_taps(l, mul(before, y), l.w.squeezed("shortconv.conv.weight", {D, taps}));
  return project(l.w, "shortconv.out_proj", D, D, mul(after, mixed));
}

Decoder lfm2(const Lfm2& c) {
  return {.rope = {.attrs = c.rope},
          .layer_of =
              [&c](std::int64_t i) {
                const Attention attention{{norm_heads, rope_halves}};
                const Block mixer = c.layer(i).G == 0 ? Block(convolution) : Block(attention);
                return pre_norm_layer(mixer, Moe{});
              },
          .final_norm = "token_embd_norm"};
}

// With an even number of taps, a token would see more on one side than on the other. Sessions learn
// from attention that a text must come as a whole.
void require_centre(const Keys& keys, const Lfm2& c) {
  if (c.taps % 2 == 0) keys.refuse("shortconv.l_cache", c.taps, "odd in encoders");
  if (std::ranges::all_of(c.layers, [](const LayerHparams& layer) { return layer.G == 0; }))
    keys.refuse("attention.head_count_kv", 0, "positive in one of the layers of an encoder");
}

Lfm2 read(const Keys& keys) {
  Lfm2 c{read_hparams(keys, {.min_G = 0})};
  c.taps = read_taps(keys, "shortconv.l_cache");
  if (!c.causal) require_centre(keys, c);
  const std::int64_t window = keys.size_or("attention.sliding_window", 0, INT32_MAX, 0);
  for (LayerHparams& layer : c.layers) layer.window = window;
  return c;
}

Lfm2 read_dense(const Keys& keys) {
  Lfm2 c = read(keys);
  require_dense(keys, c);
  return c;
}

Lfm2 read_moe(const Keys& keys) {
  Lfm2 c = read(keys);
  read_experts(keys, c, {.gating = Gating::sigmoid, .required = true});
  return c;
}

}  // namespace

extern const Architecture kLfm2, kLfm2Moe;
constinit const Architecture kLfm2 = decoder<lfm2, read_dense>("lfm2");
constinit const Architecture kLfm2Moe = decoder<lfm2, read_moe>("lfm2moe");

}  // namespace weft::arch
