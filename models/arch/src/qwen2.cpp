// Qwen 1.5, 2 and 2.5: as Llama, with biases on q, k and v and rope over the halves of a head.
// Source: Yang et al. 2024, arXiv:2407.10671.

#include "weft/arch/decoder.h"

namespace weft {

static Decoder qwen2(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = {{.name = "attn", .pre_norm = "attn_norm", .block = Attention{{rope_halves}}},
                    {.name = "ffn", .pre_norm = "ffn_norm", .block = swiglu}}};
}

extern const Architecture kQwen2;
constinit const Architecture kQwen2 = decoder<qwen2>("qwen2", {.types = {"qwen2"}});

}  // namespace weft
