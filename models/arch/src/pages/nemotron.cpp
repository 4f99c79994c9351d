// Nemotron 4 and Minitron: layer norms with biases (their "+ 1" is in the weights of the files),
// rope over halves of a part of each head, an ffn of relu squared without a gate. Source: Parmar et
// al. 2024, arXiv:2402.16819.

#include "weft/arch/decoder.h"

namespace weft::arch {

static Decoder nemotron(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{rope_halves}}, Ffn{act::relu_squared, false})};
}

extern const Architecture kNemotron;
constinit const Architecture kNemotron =
    decoder<nemotron, read_usual<HparamsRules{.norm = NormKind::layer}>>("nemotron");

}  // namespace weft::arch
