#include "weft/ops/formats/q8a.h"

#include <cmath>
#include <cstring>

#include "formats/codec.h"

namespace weft {
namespace {

void decode(const std::byte* in, float* out, std::int64_t n_elems) {
  for (; n_elems > 0; n_elems -= 32, in += sizeof(Q8ABlock), out += 32) {
    Q8ABlock block;
    std::memcpy(&block, in, sizeof(block));
    for (int i = 0; i < 32; ++i) out[i] = block.d * static_cast<float>(block.q[i]);
  }
}

// Both divisions are f32 divisions. The limits of the codes matter if d is subnormal and so
// coarse that x / d exceeds 127, and if x / d is NaN. A NaN stays the largest magnitude once it is
// found.
void encode(const float* in, std::byte* out, std::int64_t n_elems) {
  for (; n_elems > 0; n_elems -= 32, in += 32, out += sizeof(Q8ABlock)) {
    Q8ABlock block{};
    float amax = 0;
    for (int i = 0; i < 32; ++i) {
      const float magnitude = std::fabs(in[i]);
      if (magnitude > amax || std::isnan(magnitude)) amax = magnitude;
    }
    block.d = amax / 127;
    int low = 0, high = 0;
    for (int i = 0; i < 32 && block.d != 0; ++i) {
      block.q[i] = static_cast<std::int8_t>(formats::round_to(in[i] / block.d, -127, 127));
      (i < 16 ? low : high) += block.q[i];
    }
    block.dsum = block.d * static_cast<float>(low + high);
    block.start = -128 * (low + high);
    block.start_low = -128 * low;
    block.start_high = -128 * high;
    std::memcpy(out, &block, sizeof(block));
  }
}

// Half a step of d = amax / 127 and a few float roundings; if d is subnormal it misses amax /
// 127 by up to 2^-150, 127 times.
// Holds while 127 * d fits f32, short of the last few values below its end.
double max_error(double amax) {
  return amax * (1 / 254.0 + 0x1p-21) + 64 * 0x1p-149;
}

}  // namespace

const Format kQ8AFormat{.dtype = q8a, .decode = decode, .encode = encode, .max_error = max_error};

}  // namespace weft
