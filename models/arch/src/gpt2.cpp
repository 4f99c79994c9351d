// GPT-2, StarCoder 1 and their like: layer norms with biases, learned positions, GELU, biases
// everywhere. StarCoder shares one key and value head. StarCoder 2 and CodeShell have rope over
// halves in place of the positions. Sources: Radford et al. 2019, "Language Models are Unsupervised
// Multitask Learners"; Li et al. 2023, arXiv:2305.06161; Lozhkov et al. 2024, arXiv:2402.19173; Xie
// et al. 2024, arXiv:2403.15747.

#include "weft/arch/decoder.h"

namespace weft {
namespace {

Decoder gpt2(const Hparams&) {
  return {.positions = "position_embd",
          .layer = pre_norm_layer(Attention{}, Ffn{act::gelu, false})};
}

Decoder starcoder2(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{rope_halves}}, Ffn{act::gelu, false})};
}

constexpr auto read = read_usual<HparamsRules{.norm = NormKind::layer}>;

}  // namespace

extern const Architecture kGpt2, kStarCoder, kStarCoder2, kCodeShell;
constinit const Architecture kGpt2 = decoder<gpt2, read>("gpt2");
constinit const Architecture kStarCoder = decoder<gpt2, read>("starcoder");
constinit const Architecture kStarCoder2 = decoder<starcoder2, read>("starcoder2");
constinit const Architecture kCodeShell = decoder<starcoder2, read>("codeshell");

}  // namespace weft
