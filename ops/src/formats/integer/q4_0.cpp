#include "weft/ops/formats/q4_0.h"

#include <algorithm>
#include <cfloat>

#include "formats/codec.h"
#include "formats/integer/one_scale.h"

namespace weft {

void Q4_0::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < kBlock / 2; ++i) {
    out[i] = d * static_cast<float>((block.q[i] & 15) - 8);
    out[i + kBlock / 2] = d * static_cast<float>((block.q[i] >> 4) - 8);
  }
}

// The weight of largest magnitude takes code 0 (-8), so d carries the opposite sign; codes use d
// before its rounding to f16.
void Q4_0::encode(const float* in, Block& block) {
  float extreme = 0;
  for (int i = 0; i < kBlock; ++i) {
    if (std::fabs(in[i]) > std::fabs(extreme)) extreme = in[i];
  }
  const float d = extreme / -8;
  // A denormal d reads back as 0; its inverse would overflow.
  const float inverse = std::fabs(d) >= FLT_MIN ? 1 / d : 0;
  block.d = formats::scale_to_f16(d);
  const auto code = [&](int i) {
    // Rounds halves up: x / d + 8 is never negative, so adding a half and cutting does it.
    return static_cast<int>(std::clamp(in[i] * inverse + 8.5f, 0.0f, 15.0f));
  };
  for (int i = 0; i < kBlock / 2; ++i) {
    block.q[i] = static_cast<std::uint8_t>(code(i) | code(i + kBlock / 2) << 4);
  }
}

void Q4_0::put_codes(const std::uint8_t* codes, Block& block) {
  for (int i = 0; i < kBlock / 2; ++i)
    block.q[i] = static_cast<std::uint8_t>(codes[i] | codes[i + kBlock / 2] << 4);
}

namespace {

// One step of d = amax / 8 (the code for +8 does not exist, so a weight opposite to the extreme one
// is cut to +7), plus the rounding of d to f16 (relative 2^-11, absolute 2^-25 if subnormal)
// times 8. Holds while d fits f16.
double max_error(double amax) {
  return amax * (1 / 8.0 + 0x1p-11 + 0x1p-20) + 8 * 0x1p-25;
}

}  // namespace

const Format kQ4_0Format{.dtype = q4_0,
                         .decode = formats::decode_row<Q4_0>,
                         .encode = formats::encode_row<Q4_0>,
                         .encode_weighted = formats::encode_symmetric_row<Q4_0, 8>,
                         .max_error = max_error};

}  // namespace weft
