#include "weft/ops/formats/tq2_0.h"

#include "formats/codec.h"
#include "formats/integer/ranges.h"

namespace weft {
namespace {

constexpr int byte_of(int i) {
  return i / 128 * 32 + i % 32;
}
constexpr int shift_of(int i) {
  return i % 128 / 32 * 2;
}

}  // namespace

void TQ2_0::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < kBlock; ++i) {
    const int code = block.q[byte_of(i)] >> shift_of(i) & 3;
    out[i] = static_cast<float>(code - 1) * d;
  }
}

void TQ2_0::encode(const float* in, Block& block) {
  const float d = formats::largest_magnitude(in, kBlock);
  const float inverse = formats::inverse_scale(d);
  block = {};
  block.d = formats::scale_to_f16(d);
  for (int i = 0; i < kBlock; ++i) {
    const int code = static_cast<int>(std::round(in[i] * inverse)) + 1;
    auto& byte = block.q[byte_of(i)];
    byte = static_cast<std::uint8_t>(byte | code << shift_of(i));
  }
}

namespace {

// Half of d = amax, and its rounding to f16.
double max_error(double amax) {
  return amax * (0.5 + 0x1p-11 + 0x1p-20) + 0x1p-25;
}

}  // namespace

const Format kTQ2_0Format{.dtype = tq2_0,
                          .decode = formats::decode_row<TQ2_0>,
                          .encode = formats::encode_row<TQ2_0>,
                          .max_error = max_error};

}  // namespace weft
