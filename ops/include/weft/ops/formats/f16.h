#pragma once
// F16: IEEE 754 binary16, little-endian.      bytes 0-1: w (f16)      2 B per weight

#include "weft/ops/formats/format.h"

namespace weft {

extern const Format kF16Format;

}  // namespace weft
