// Orion: Llama with layer norms and rope over halves. Source: Chen et al. 2024, arXiv:2401.12246.

#include "weft/arch/decoder.h"

namespace weft::arch {

static Decoder orion(const Hparams& c) {
  return {.rope = {.attrs = c.rope}, .layer = pre_norm_layer(Attention{{rope_halves}}, swiglu)};
}

extern const Architecture kOrion;
constinit const Architecture kOrion =
    decoder<orion, read_usual<HparamsRules{.norm = NormKind::layer}>>("orion");

}  // namespace weft::arch
