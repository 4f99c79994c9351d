// ChatGLM 3 and GLM-4: rope over adjacent pairs of the first half of a head, biases on q, k and v,
// gate and up in one matrix. GLM-4-0414 also has norms after attention and ffn.
// Source: Team GLM 2024, arXiv:2406.12793.

#include "weft/arch/decoder.h"

namespace weft::arch {

static Decoder chatglm(const Hparams& c) {
  return {.rope = {.attrs = c.rope}, .layer = pre_norm_layer(Attention{{rope_adjacent}}, swiglu)};
}

static Decoder glm4(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = sandwich_norm_layer(Attention{{rope_adjacent}}, swiglu)};
}

extern const Architecture kChatGlm, kGlm4;
constinit const Architecture kChatGlm = decoder<chatglm>("chatglm");
constinit const Architecture kGlm4 = decoder<glm4>("glm4");

}  // namespace weft::arch
