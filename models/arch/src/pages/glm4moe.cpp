// GLM-4.5 to 4.7: rope over halves of a part of each head, norms over query and key heads in the
// larger models, experts behind a sigmoid router, dense first layers.
// Sources: GLM-4.5 Team 2025, arXiv:2508.06471; of drafts: vLLM, glm4_moe_mtp.py.

#include "weft/arch/decoder.h"

namespace weft::arch {
namespace {

Decoder glm4moe(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = pre_norm_layer(Attention{{norm_heads_if_present, rope_halves}}, Moe{},
                                  "post_attention_norm"),
          .draft = {.next_normed = false}};
}

}  // namespace

extern const Architecture kGlm4Moe;
constinit const Architecture kGlm4Moe =
    decoder<glm4moe, read_with_experts<ExpertRules{.gating = Gating::sigmoid, .normalize = false}>>(
        "glm4moe");

}  // namespace weft::arch
