// gpt-oss: heads with sinks, a window in every other layer, biases everywhere, and experts whose
// gate and other half are clamped. Source: OpenAI 2025, arXiv:2508.10925.

#include "weft/arch/decoder.h"

namespace weft::arch {
namespace {

Decoder gpt_oss(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{rope_halves}}, Moe{unit::clamped_swiglu},
                                  "post_attention_norm")};
}

Hparams read(const Keys& keys) {
  Hparams c = read_hparams(keys, {.min_F = 0});
  read_experts(keys, c,
               {.gating = Gating::softmax_of_chosen, .normalize = false, .required = true});
  read_windows(keys, c, 2);
  return c;
}

}  // namespace

extern const Architecture kGptOss;
constinit const Architecture kGptOss = decoder<gpt_oss, read>("gpt-oss");

}  // namespace weft::arch
