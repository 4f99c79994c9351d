#include "weft/ops/formats/q4_1.h"

#include "formats/codec.h"
#include "formats/integer/one_scale.h"

namespace weft {

void Q4_1::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  const float m = f16_to_f32(block.m);
  for (int i = 0; i < kBlock / 2; ++i) {
    out[i] = d * static_cast<float>(block.q[i] & 15) + m;
    out[i + kBlock / 2] = d * static_cast<float>(block.q[i] >> 4) + m;
  }
}

void Q4_1::put_codes(const std::uint8_t* codes, Block& block) {
  for (int i = 0; i < kBlock / 2; ++i)
    block.q[i] = static_cast<std::uint8_t>(codes[i] | codes[i + kBlock / 2] << 4);
}

// The smallest weight takes code 0, the largest the top code.
void Q4_1::encode(const float* in, Block& block) {
  formats::spread<Q4_1>(in, block);
}

namespace {

// Half a step of d = span / 15, span <= 2 * amax, plus the rounding of d (times 15) and m to f16.
double max_error(double amax) {
  return amax * (2 / 30.0 + 3 * 0x1p-11 + 0x1p-20) + 16 * 0x1p-25;
}

}  // namespace

const Format kQ4_1Format{.dtype = q4_1,
                         .decode = formats::decode_row<Q4_1>,
                         .encode = formats::encode_row<Q4_1>,
                         .encode_weighted = formats::encode_affine_row<Q4_1>,
                         .max_error = max_error};

}  // namespace weft
