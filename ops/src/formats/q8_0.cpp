#include "weft/ops/formats/q8_0.h"

#include <algorithm>
#include <cfloat>

#include "formats/codec.h"

namespace weft {

void Q8_0::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < kBlock; ++i) out[i] = d * static_cast<float>(block.q[i]);
}

// Codes are taken with the scale before it is rounded to f16: that is how files in this format are
// made everywhere.
void Q8_0::encode(const float* in, Block& block) {
  float amax = 0;
  for (int i = 0; i < kBlock; ++i) amax = std::max(amax, std::fabs(in[i]));
  const float d = amax / 127;
  // A denormal d reads back as 0; its inverse would overflow.
  const float inverse = std::fabs(d) >= FLT_MIN ? 1 / d : 0;
  block.d = formats::scale_to_f16(d);
  for (int i = 0; i < kBlock; ++i) {
    const float code = std::round(in[i] * inverse);  // halves away from zero
    block.q[i] = static_cast<std::int8_t>(std::clamp(code, -127.0f, 127.0f));
  }
}

namespace {

// Half a step of d = amax / 127, plus the rounding of d to f16 (relative 2^-11, absolute 2^-25
// where subnormal) times 127, plus a few float roundings. Holds while d fits f16, amax <= 127 *
// 65504.
double step(double amax) {
  return amax * (1 / 254.0 + 0x1p-11 + 0x1p-20) + 127 * 0x1p-25;
}

}  // namespace

const Format kQ8_0Format{.dtype = q8_0,
                         .decode = formats::decode_row<Q8_0>,
                         .encode = formats::encode_row<Q8_0>,
                         .step = step};

}  // namespace weft
