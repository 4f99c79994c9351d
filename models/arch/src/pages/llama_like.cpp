// Decoders that are Llama but for the tensors of their files (biases, a fused projection, no output
// matrix), which blocks find by themselves. Sources: InternLM2 (Cai et al. 2024, arXiv:2403.17297);
// XVERSE (https://github.com/xverse-ai); ERNIE 4.5 (Baidu 2025, https://ernie.baidu.com/blog);
// openPangu Embedded (https://arxiv.org/abs/2505.22375).

#include "weft/arch/decoder.h"

namespace weft::arch {
namespace {

Decoder adjacent(const Hparams& c) {
  return {.rope = {.attrs = c.rope}, .layer = pre_norm_layer(Attention{{rope_adjacent}}, swiglu)};
}

Decoder halves(const Hparams& c) {
  return {.rope = {.attrs = c.rope, .factors = true},
          .layer = pre_norm_layer(Attention{{rope_halves}}, swiglu)};
}

}  // namespace

extern const Architecture kInternLm2, kXverse, kErnie45, kPanguEmbedded;
constinit const Architecture kInternLm2 = decoder<adjacent>("internlm2");
constinit const Architecture kXverse = decoder<adjacent>("xverse");
constinit const Architecture kErnie45 = decoder<adjacent>("ernie4_5");
constinit const Architecture kPanguEmbedded = decoder<halves>("pangu-embedded");

}  // namespace weft::arch
