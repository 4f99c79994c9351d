// CogVLM, the text part: as Llama with rope over halves. A second set of matrices, for tokens of
// images, is left aside. Source: Wang et al. 2023, arXiv:2311.03079.

#include "weft/arch/decoder.h"

namespace weft::arch {

static Decoder cogvlm(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{rope_halves}}, swiglu),
          .unused_in_layers = {"vis_attn_qkv.weight", "vis_attn_output.weight", "vis_gate.weight",
                               "vis_up.weight", "vis_down.weight"}};
}

extern const Architecture kCogVlm;
constinit const Architecture kCogVlm = decoder<cogvlm>("cogvlm");

}  // namespace weft::arch
