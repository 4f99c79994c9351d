// Hunyuan, dense: rope over halves, then a norm over every query and key head. A key
// rope.scaling.alpha makes the base of rope larger ("NTK-aware"). Maincoder is the same with rope
// over adjacent pairs. Sources: Tencent 2025, https://github.com/Tencent-Hunyuan/Hunyuan-7B;
// https://huggingface.co/Maincode/Maincoder-1B.

#include <cmath>

#include "weft/arch/decoder.h"

namespace weft::arch {
namespace {

Decoder hunyuan(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{rope_halves, norm_heads}}, swiglu)};
}

Decoder maincoder(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{rope_adjacent, norm_heads}}, swiglu)};
}

Hparams read(const Keys& keys) {
  Hparams c = read_usual<>(keys);
  const float alpha = keys.number_or("rope.scaling.alpha", 0, 1e9, 0);
  const auto E = static_cast<float>(c.layer(0).E);
  read_sections(keys, c, false);
  if (alpha > 0 && E > 2) c.rope.base *= std::pow(alpha, E / (E - 2));
  return c;
}

}  // namespace

extern const Architecture kHunyuanDense, kHunyuanVl, kMaincoder;
constinit const Architecture kHunyuanDense = decoder<hunyuan, read>("hunyuan-dense");
constinit const Architecture kHunyuanVl = decoder<hunyuan, read>("hunyuan_vl");
constinit const Architecture kMaincoder = decoder<maincoder>("maincoder");

}  // namespace weft::arch
