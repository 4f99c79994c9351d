// EXAONE 3 and 4. 3: as Llama with rope over halves. 4: norms only after attention and ffn, and
// over every query and key head; its model of 64 layers sees a window of 4096 tokens in three of
// four layers and has no rope in the fourth. Sources: LG AI Research 2024, arXiv:2412.04862; 2025,
// arXiv:2507.11407.

#include "weft/arch/decoder.h"

namespace weft::arch {
namespace {

Decoder exaone(const Hparams& c) {
  return {.rope = {.attrs = c.rope, .factors = true},
          .layer = pre_norm_layer(Attention{{rope_halves}}, swiglu)};
}

Decoder exaone4(const Hparams& c) {
  return {.rope = {.attrs = c.rope, .factors = true},
          .layer = {{.name = "attn",
                     .block = Attention{{norm_heads, rope_halves}},
                     .post_norm = "post_attention_norm"},
                    {.name = "ffn", .block = swiglu, .post_norm = "post_ffw_norm"}}};
}

Hparams read_exaone4(const Keys& keys) {
  Hparams c = read_usual<>(keys);
  if (c.L != 64) return c;
  read_windows(keys, c, 4, {.window = 4096});
  rope_in_windows_only(c);
  return c;
}

}  // namespace

extern const Architecture kExaone, kExaone4;
constinit const Architecture kExaone = decoder<exaone>("exaone");
constinit const Architecture kExaone4 = decoder<exaone4, read_exaone4>("exaone4");

}  // namespace weft::arch
