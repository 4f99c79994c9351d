// SmolLM3: as Llama; every fourth layer has no rope.
// Source: https://huggingface.co/blog/smollm3.

#include "weft/arch/decoder.h"

namespace weft::arch {
namespace {

Decoder smollm3(const Hparams& c) {
  return {.rope = {.attrs = c.rope}, .layer = pre_norm_layer(Attention{{rope_adjacent}}, swiglu)};
}

Hparams read(const Keys& keys) {
  Hparams c = read_usual<>(keys);
  for (std::size_t i = 3; i < c.layers.size(); i += 4) c.layers[i].rope = LayerRope::none;
  return c;
}

}  // namespace

extern const Architecture kSmolLm3;
constinit const Architecture kSmolLm3 = decoder<smollm3, read>("smollm3");

}  // namespace weft::arch
