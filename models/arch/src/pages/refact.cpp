// Refact: Llama with ALiBi in place of rope. Source:
// https://huggingface.co/smallcloudai/Refact-1_6B.

#include "weft/arch/decoder.h"

namespace weft::arch {

static Decoder refact(const Hparams&) {
  return {.layer = pre_norm_layer(Attention{.alibi = 8}, swiglu)};
}

extern const Architecture kRefact;
constinit const Architecture kRefact = decoder<refact>("refact");

}  // namespace weft::arch
