// MiMo-V2 Flash: values narrower than keys and scaled, layers with a window have more kv heads,
// sinks and a rope of their own; experts behind a sigmoid router in most layers. Sources:
// Xiaomi 2025, https://github.com/XiaomiMiMo/MiMo-V2-Flash; of drafts: llama.cpp, mimo2.cpp.

#include "weft/arch/decoder.h"
#include "weft/ops/elementwise/scale.h"

namespace weft::arch {
namespace {

struct Mimo : Hparams {
  RopeAttrs local_rope = {};
  float value_scale = 1;
};

Tensor scale_values(const Layer& l, Tensor, Tensor y) {
  const float factor = l.config<Mimo>().value_scale;
  return factor == 1 ? y : scale(y, factor);
}

Decoder mimo2(const Mimo& c) {
  const Attention attention{.q_and_k = {rope_halves}, .output = {scale_values}};
  return {.rope = {.attrs = c.rope},
          .second_rope = {.attrs = c.local_rope},
          .layer = pre_norm_layer(attention, Moe{}),
          .draft = {.normed = false, .next_normed = false}};
}

// Layers with a router have experts. Draft layers have dense ffns.
Mimo read(const Keys& keys) {
  Mimo c{read_hparams(keys)};
  read_experts(keys, c, {.gating = Gating::sigmoid, .normalize = true, .required = true});
  for (std::size_t i = 0; i < c.layers.size(); ++i) {
    const std::string router = fmt::format("blk.{}.ffn_gate_inp.weight", i);
    const std::string dense = fmt::format("blk.{}.ffn_up.weight", i);
    const bool unknown = !keys.source().find_tensor(dense) && std::cmp_less(i, c.L);
    c.layers[i].experts = keys.source().find_tensor(router) || unknown;
  }
  read_windows(keys, c, 0);
  c.local_rope = read_local_rope(keys, c, 10000);
  c.value_scale = keys.number_or("attention.value_scale", -1e6, 1e6, 1);
  return c;
}

}  // namespace

extern const Architecture kMimo2;
constinit const Architecture kMimo2 = decoder<mimo2, read>("mimo2");

}  // namespace weft::arch
