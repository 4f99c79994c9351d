#include "weft/ops/formats/q8_1.h"

#include <algorithm>

#include "formats/codec.h"
#include "formats/integer/ranges.h"

namespace weft {

void Q8_1::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < kBlock; ++i) out[i] = d * static_cast<float>(block.q[i]);
}

// As Q8_0; the sum uses d before its rounding to f16.
void Q8_1::encode(const float* in, Block& block) {
  const float d = formats::largest_magnitude(in, kBlock) / 127;
  const float inverse = formats::inverse_scale(d);
  block.d = formats::scale_to_f16(d);
  int sum = 0;
  for (int i = 0; i < kBlock; ++i) {
    block.q[i] = static_cast<std::int8_t>(std::clamp(std::round(in[i] * inverse), -127.0f, 127.0f));
    sum += block.q[i];
  }
  block.s = formats::scale_to_f16(d * static_cast<float>(sum));
}

namespace {

// See Q8_0.
double max_error(double amax) {
  return amax * (1 / 254.0 + 0x1p-11 + 0x1p-20) + 127 * 0x1p-25;
}

}  // namespace

const Format kQ8_1Format{.dtype = q8_1,
                         .decode = formats::decode_row<Q8_1>,
                         .encode = formats::encode_row<Q8_1>,
                         .max_error = max_error};

}  // namespace weft
