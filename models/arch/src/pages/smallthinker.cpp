// SmallThinker: the router of a layer looks at what the layer takes, so that experts can be fetched
// while attention runs; experts gated by relu; every fourth layer, from the first on, sees
// everything and has no rope, the others a window of 4096. Source: Song et al. 2025,
// arXiv:2507.20984.

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/add.h"

namespace weft::arch {
namespace {

Tensor layer(const Layer& l, Tensor x) {
  const ExpertChoice choice = router_choice(l, x);
  const Tensor h = add(x, Attention{{rope_halves}}(l, norm(l.w, "attn_norm", l.c, x)));
  return add(h, experts(l, norm(l.w, "ffn_norm", l.c, h), choice, unit::reglu));
}

Decoder smallthinker(const Hparams& c) {
  return {.rope = {.attrs = c.rope}, .whole_layer = layer};
}

Hparams read(const Keys& keys) {
  Hparams c = read_hparams(keys);
  read_experts(keys, c, {.width = ExpertWidth::own_or_ffn, .required = true});
  read_windows(keys, c, 4, {.full_first = true});
  const bool windows = keys.size_or("attention.sliding_window", 0, INT32_MAX, 0) > 0;
  if (windows) rope_in_windows_only(c);
  for (LayerHparams& n : c.layers)
    n.window = n.window > 0 ? 4096 : 0;  // the value in the file is ignored
  return c;
}

}  // namespace

extern const Architecture kSmallThinker;
constinit const Architecture kSmallThinker = decoder<smallthinker, read>("smallthinker");

}  // namespace weft::arch
