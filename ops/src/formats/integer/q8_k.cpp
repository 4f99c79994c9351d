#include "weft/ops/formats/q8_k.h"

#include "formats/codec.h"
#include "formats/integer/ranges.h"

namespace weft {

void Q8_K::decode(const Block& block, float* out) {
  for (int i = 0; i < kBlock; ++i) out[i] = block.d * static_cast<float>(block.q[i]);
}

// The weight of largest magnitude takes code -127, so d carries the opposite sign.
void Q8_K::encode(const float* in, Block& block) {
  const float top = formats::extreme(in, kBlock);
  const float inverse = -127 * formats::inverse_scale(top);
  block = {};
  // Near the smallest normal number 1 / inverse would still be one, but 127 times its inverse not.
  if (inverse == 0 || !std::isfinite(inverse)) return;
  block.d = 1 / inverse;
  for (int i = 0; i < kBlock; ++i) {
    const int code = formats::round_to(inverse * in[i], -127, 127);
    block.q[i] = static_cast<std::int8_t>(code);
    block.sum[i / kSub] = static_cast<std::int16_t>(block.sum[i / kSub] + code);
  }
}

namespace {

// Half a step of amax / 127, a few float roundings, and the smallest normal float, below which all
// becomes 0.
double max_error(double amax) {
  return amax * (1 / 254.0 + 0x1p-20) + 256 * 0x1p-126;
}

}  // namespace

const Format kQ8_KFormat{.dtype = q8_k,
                         .decode = formats::decode_row<Q8_K>,
                         .encode = formats::encode_row<Q8_K>,
                         .max_error = max_error};

}  // namespace weft
