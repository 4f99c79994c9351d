#include "weft/ops/formats/q8h.h"

#include "formats/codec.h"
#include "formats/integer/ranges.h"

namespace weft {

void Q8H::decode(const Block& block, float* out) {
  const float step = f16_to_f32(block.d) / 2;
  for (int i = 0; i < kBlock; ++i) out[i] = step * static_cast<float>(block.q[i]);
}

void Q8H::encode(const float* in, Block& block) {
  const float step = formats::largest_magnitude(in, kBlock) / 127;
  const float inverse = formats::inverse_scale(step);
  block.d = formats::scale_to_f16(2 * step);
  for (int i = 0; i < kBlock; ++i)
    block.q[i] = static_cast<std::int8_t>(formats::round_to(in[i] * inverse, -127, 127));
}

namespace {

// As of Q8_0, whose d is rounded in the same way.
double max_error(double amax) {
  return amax * (1 / 254.0 + 0x1p-11 + 0x1p-20) + 127 * 0x1p-25;
}

}  // namespace

const Format kQ8HFormat{.dtype = q8h,
                        .decode = formats::decode_row<Q8H>,
                        .encode = formats::encode_row<Q8H>,
                        .max_error = max_error};

}  // namespace weft
