#include "weft/ops/formats/q5_0.h"

#include <algorithm>

#include "formats/codec.h"
#include "formats/integer/fifth_bits.h"
#include "formats/integer/one_scale.h"
#include "formats/integer/ranges.h"

namespace weft {

void Q5_0::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  std::uint8_t codes[kBlock];
  formats::get_five_bits(block.q, block.high, codes);
  for (int i = 0; i < kBlock; ++i) out[i] = d * static_cast<float>(codes[i] - 16);
}

void Q5_0::put_codes(const std::uint8_t* codes, Block& block) {
  formats::put_five_bits(codes, block.q, block.high);
}

// As Q4_0: the weight of largest magnitude takes code 0 (-16), codes use d before its rounding.
void Q5_0::encode(const float* in, Block& block) {
  const float d = formats::extreme(in, kBlock) / -16;
  const float inverse = formats::inverse_scale(d);
  block.d = formats::scale_to_f16(d);
  std::uint8_t codes[kBlock];
  for (int i = 0; i < kBlock; ++i)
    codes[i] = static_cast<std::uint8_t>(std::clamp(in[i] * inverse + 16.5f, 0.0f, 31.0f));
  put_codes(codes, block);
}

namespace {

// One step of d = amax / 16 (see Q4_0), plus the rounding of d to f16 times 16.
double max_error(double amax) {
  return amax * (1 / 16.0 + 0x1p-11 + 0x1p-20) + 16 * 0x1p-25;
}

}  // namespace

const Format kQ5_0Format{.dtype = q5_0,
                         .decode = formats::decode_row<Q5_0>,
                         .encode = formats::encode_row<Q5_0>,
                         .encode_weighted = formats::encode_symmetric_row<Q5_0, 16>,
                         .max_error = max_error};

}  // namespace weft
