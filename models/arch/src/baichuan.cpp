// Baichuan 1 and 2: as Llama; the models of 40 layers (13B) have ALiBi in place of rope.
// Source: Yang et al. 2023, arXiv:2309.10305.

#include "weft/arch/decoder.h"

namespace weft {

static Decoder baichuan(const Hparams& c) {
  const bool alibi = c.L == 40;
  return {.rope = {.attrs = alibi ? RopeAttrs{} : c.rope},
          .layer = pre_norm_layer(Attention{.q_and_k = {rope_adjacent}, .alibi = alibi ? 8.f : 0},
                                  swiglu)};
}

extern const Architecture kBaichuan;
constinit const Architecture kBaichuan = decoder<baichuan>("baichuan");

}  // namespace weft
