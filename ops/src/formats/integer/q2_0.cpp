#include "weft/ops/formats/q2_0.h"

#include "formats/codec.h"
#include "formats/integer/ranges.h"

namespace weft {

void Q2_0::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < kBlock; ++i) {
    const int code = block.q[i / 4] >> i % 4 * 2 & 3;
    out[i] = static_cast<float>(code - 1) * d;
  }
}

// For weights that are -d, 0 or d: d is the largest magnitude, code 3 is not used.
void Q2_0::encode(const float* in, Block& block) {
  const float d = formats::largest_magnitude(in, kBlock);
  const float inverse = formats::inverse_scale(d);
  block = {};
  block.d = formats::scale_to_f16(d);
  for (int i = 0; i < kBlock; ++i) {
    const int code = static_cast<int>(std::round(in[i] * inverse)) + 1;
    block.q[i / 4] = static_cast<std::uint8_t>(block.q[i / 4] | code << i % 4 * 2);
  }
}

namespace {

// Half of d = amax, and its rounding to f16.
double max_error(double amax) {
  return amax * (0.5 + 0x1p-11 + 0x1p-20) + 0x1p-25;
}

}  // namespace

const Format kQ2_0Format{.dtype = q2_0,
                         .decode = formats::decode_row<Q2_0>,
                         .encode = formats::encode_row<Q2_0>,
                         .max_error = max_error};

}  // namespace weft
