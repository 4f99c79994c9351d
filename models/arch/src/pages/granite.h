#pragma once
// The scales of Granite, which its pages share.

#include "weft/arch/decoder.h"

namespace weft::arch {

struct Granite : Hparams {
  float embedding_scale = 1, residual_scale = 1, attention_scale = 1, logits_scale = 1;
};

// Reads the shared keys, the experts and the scales. Throws as read_hparams() does.
Granite read_granite(const Keys& keys);

}  // namespace weft::arch
