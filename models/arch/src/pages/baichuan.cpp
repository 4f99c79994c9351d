// Baichuan 1 and 2: as Llama. Their files do not say how positions are encoded: the models of 32
// layers (7B) have rope, those of 40 (13B) ALiBi; other depths are taken to have neither, as in the
// engines that write such files.
// Source: Yang et al. 2023, arXiv:2309.10305.

#include "weft/arch/decoder.h"

namespace weft::arch {

static Decoder baichuan(const Hparams& c) {
  const bool alibi = c.L == 40;
  return {.rope = {.attrs = c.L == 32 ? c.rope : RopeAttrs{}},
          .layer = pre_norm_layer(Attention{.q_and_k = {rope_adjacent}, .alibi = alibi ? 8.f : 0},
                                  swiglu)};
}

extern const Architecture kBaichuan;
constinit const Architecture kBaichuan = decoder<baichuan>("baichuan");

}  // namespace weft::arch
