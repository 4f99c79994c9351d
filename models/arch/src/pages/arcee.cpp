// Arcee AFM: as Llama, with an ffn of relu squared and without a gate.
// Source: https://huggingface.co/arcee-ai/AFM-4.5B.

#include "weft/arch/decoder.h"

namespace weft::arch {

static Decoder arcee(const Hparams& c) {
  return {.rope = {.attrs = c.rope, .factors = true},
          .layer = pre_norm_layer(Attention{{rope_adjacent}}, Ffn{act::relu_squared, false})};
}

extern const Architecture kArcee;
constinit const Architecture kArcee = decoder<arcee>("arcee");

}  // namespace weft::arch
