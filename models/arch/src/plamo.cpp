// PLaMo: attention and ffn side by side behind one norm. PLaMo 3: norms before and after both, and
// over every query and key head; a window in seven of eight layers, and there a rope of its own.
// Sources: Preferred Networks 2023, https://huggingface.co/pfnet/plamo-13b; 2025,
// https://huggingface.co/pfnet/plamo-3-nict-8b-base.

#include "weft/arch/decoder.h"

namespace weft {
namespace {

Decoder plamo(const Hparams& c) {
  return {.rope = {.attrs = c.rope},
          .layer = {{.name = "layer",
                     .pre_norm = "attn_norm",
                     .block = side_by_side(Attention{{rope_halves}}, swiglu)}}};
}

struct Plamo3 : Hparams {
  RopeAttrs local_rope = {};
};

Decoder plamo3(const Plamo3& c) {
  return {.rope = {.attrs = c.rope},
          .second_rope = {.attrs = c.local_rope},
          .layer = sandwich_norm_layer(Attention{{norm_heads, rope_halves}}, swiglu)};
}

Plamo3 read(const Keys& keys) {
  Plamo3 c{read_usual<>(keys)};
  read_windows(keys, c, 8);
  c.local_rope = read_local_rope(keys, c, 10000);
  return c;
}

}  // namespace

extern const Architecture kPlamo, kPlamo3;
constinit const Architecture kPlamo = decoder<plamo>("plamo");
constinit const Architecture kPlamo3 = decoder<plamo3, read>("plamo3");

}  // namespace weft
