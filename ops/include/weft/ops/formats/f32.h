#pragma once
// F32: plain IEEE 754 binary32, little-endian.      bytes 0-3: w (f32)      4 B per weight

#include "weft/ops/formats/format.h"

namespace weft {

extern const Format kF32Format;

}  // namespace weft
