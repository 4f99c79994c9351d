// BitNet b1.58: as Llama with rope over halves, a norm before each of the two projections back to
// the model's width (attn_sub_norm, ffn_sub_norm), and one scale per matrix.
// Source: Ma et al. 2024, arXiv:2402.17764.

#include "weft/arch/decoder.h"

namespace weft {

static Decoder bitnet(const Hparams& c) {
  return {.rope = {.attrs = c.rope}, .layer = pre_norm_layer(Attention{{rope_halves}}, swiglu)};
}

extern const Architecture kBitnet;
constinit const Architecture kBitnet = decoder<bitnet>("bitnet");

}  // namespace weft
