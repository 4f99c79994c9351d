// BitNet b1.58: as Llama with rope over halves, a norm before each of the two projections back to
// the model's width (attn_sub_norm, ffn_sub_norm), and one scale per matrix. That of 2B weights,
// bitnet-b1.58 and bitnet-25 in files, has relu squared instead of silu.
// Sources: Ma et al. 2024, arXiv:2402.17764; Ma et al. 2025, arXiv:2504.12285.

#include "weft/arch/decoder.h"

namespace weft::arch {

static Decoder bitnet(const Hparams& c) {
  return {.rope = {.attrs = c.rope}, .layer = pre_norm_layer(Attention{{rope_halves}}, swiglu)};
}

static Decoder bitnet_2b(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{rope_halves}}, Ffn{act::relu_squared})};
}

extern const Architecture kBitnet, kBitnet158, kBitnet25;
constinit const Architecture kBitnet = decoder<bitnet>("bitnet");
constinit const Architecture kBitnet158 = decoder<bitnet_2b>("bitnet-b1.58");
constinit const Architecture kBitnet25 = decoder<bitnet_2b>("bitnet-25");

}  // namespace weft::arch
