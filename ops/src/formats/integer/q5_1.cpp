#include "weft/ops/formats/q5_1.h"

#include "formats/codec.h"
#include "formats/integer/fifth_bits.h"
#include "formats/integer/one_scale.h"

namespace weft {

void Q5_1::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  const float m = f16_to_f32(block.m);
  std::uint8_t codes[kBlock];
  formats::get_five_bits(block.q, block.high, codes);
  for (int i = 0; i < kBlock; ++i) out[i] = d * static_cast<float>(codes[i]) + m;
}

void Q5_1::put_codes(const std::uint8_t* codes, Block& block) {
  formats::put_five_bits(codes, block.q, block.high);
}

// The smallest weight takes code 0, the largest the top code.
void Q5_1::encode(const float* in, Block& block) {
  formats::spread<Q5_1>(in, block);
}

namespace {

// Half a step of d = span / 31, span <= 2 * amax, plus the rounding of d (times 31) and m to f16.
double max_error(double amax) {
  return amax * (2 / 62.0 + 3 * 0x1p-11 + 0x1p-20) + 32 * 0x1p-25;
}

}  // namespace

const Format kQ5_1Format{.dtype = q5_1,
                         .decode = formats::decode_row<Q5_1>,
                         .encode = formats::encode_row<Q5_1>,
                         .encode_weighted = formats::encode_affine_row<Q5_1>,
                         .max_error = max_error};

}  // namespace weft
