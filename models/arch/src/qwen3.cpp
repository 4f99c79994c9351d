// Qwen 3, dense: as Qwen 2 without biases, and with an RMS norm over every query and key head
// before rope. Source: Yang et al. 2025, arXiv:2505.09388.

#include "weft/arch/decoder.h"

namespace weft {

static Decoder qwen3(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = {{.name = "attn",
                     .pre_norm = "attn_norm",
                     .block = Attention{.q_and_k = {norm_heads, rope_halves}}},
                    {.name = "ffn", .pre_norm = "ffn_norm", .block = swiglu}},
          .unused = {"cls.output.weight"}};  // the classifier of rerankers
}

constexpr HfTensor kTensors[] = {{"self_attn.q_norm", "attn_q_norm"},
                                 {"self_attn.k_norm", "attn_k_norm"}};
extern const Architecture kQwen3;
constinit const Architecture kQwen3 =
    decoder<qwen3>("qwen3", {.types = {"qwen3"}, .tensors = kTensors});

}  // namespace weft
