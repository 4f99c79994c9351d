// Qwen 1: rope over halves, q, k and v in one matrix with a bias; the file's ffn width is that of
// gate and up together. Source: Bai et al. 2023, arXiv:2309.16609.

#include "weft/arch/decoder.h"

namespace weft::arch {
namespace {

Decoder qwen(const Hparams& c) {
  return {.rope = {.attrs = c.rope}, .layer = pre_norm_layer(Attention{{rope_halves}}, swiglu)};
}

Hparams read(const Keys& keys) {
  Hparams c = read_usual<>(keys);
  for (LayerHparams& layer : c.layers) layer.F /= 2;
  if (c.layer(0).F == 0) keys.refuse("feed_forward_length", 1, "at least 2");
  return c;
}

}  // namespace

extern const Architecture kQwen;
constinit const Architecture kQwen = decoder<qwen, read>("qwen");

}  // namespace weft::arch
