// Llama 1 to 3, Mistral, Yi, SmolLM and others with their layout: RMS norms before attention and
// ffn, grouped heads, rope over adjacent pairs, SwiGLU. Sources: Touvron et al. 2023,
// arXiv:2302.13971; Grattafiori et al. 2024, arXiv:2407.21783 (rope_freqs).
// The key llama.attention.scale is ignored, as in the engines that write such files.

#include "weft/arch/decoder.h"

namespace weft {
namespace {

Decoder llama(const Hparams& c) {
  return {.rope = {.attrs = c.rope, .factors = true},
          .layer = {{.name = "attn", .pre_norm = "attn_norm", .block = Attention{{rope_adjacent}}},
                    {.name = "ffn", .pre_norm = "ffn_norm", .block = swiglu}}};
}

Hparams read(const Keys& keys) {
  const Hparams c = read_hparams(keys);
  require_dense(keys, c);
  const std::int64_t E = c.layer(0).E;
  if (c.rope.n_rot != E)
    keys.refuse("rope.dimension_count", c.rope.n_rot, fmt::format("the {} elements of a head", E));
  return c;
}

}  // namespace

extern const Architecture kLlama;
constinit const Architecture kLlama =
    decoder<llama, read>("llama", {.types = {"llama", "mistral"}, .paired_rows = true});

}  // namespace weft
