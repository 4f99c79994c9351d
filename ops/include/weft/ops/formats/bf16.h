#pragma once
// BF16: the upper half of a binary32, little-endian.      bytes 0-1: w (bf16)      2 B per weight

#include "weft/ops/formats/format.h"

namespace weft {

extern const Format kBF16Format;

}  // namespace weft
