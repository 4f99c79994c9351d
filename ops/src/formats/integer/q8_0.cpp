#include "weft/ops/formats/q8_0.h"

#include "formats/codec.h"
#include "formats/integer/ranges.h"
#include "formats/search/lanes.h"

namespace weft {

void Q8_0::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < kBlock; ++i) out[i] = d * static_cast<float>(block.q[i]);
}

namespace {

// Codes use the scale before it is rounded to f16, as in all programs that write this format.
void encode_row(const float* in, std::byte* out, std::int64_t n_elems) {
  using namespace formats;
  run_on_lanes([&]() WEFT_LANES {
    for (std::int64_t i = 0; i < n_elems; i += Q8_0::kBlock, out += sizeof(Q8_0::Block)) {
      Floats x[2];
      std::memcpy(x, in + i, sizeof(x));
      const float d = max_of(max_lanes(magnitude(x[0]), magnitude(x[1]))) / 127;
      const float inverse = inverse_scale(d);
      Q8_0::Block block;
      block.d = scale_to_f16(d);
      const Int8s q[2] = {rounded_bytes(x[0] * inverse), rounded_bytes(x[1] * inverse)};
      std::memcpy(block.q, q, sizeof(q));
      std::memcpy(out, &block, sizeof(block));
    }
  });
}

// Half a step of d = amax / 127, plus the rounding of d to f16 (relative 2^-11, absolute 2^-25
// if subnormal) times 127, plus a few float roundings. Holds while d fits f16, amax <= 127 *
// 65504.
double max_error(double amax) {
  return amax * (1 / 254.0 + 0x1p-11 + 0x1p-20) + 127 * 0x1p-25;
}

}  // namespace

const Format kQ8_0Format{.dtype = q8_0,
                         .decode = formats::decode_row<Q8_0>,
                         .encode = encode_row,
                         .max_error = max_error};

}  // namespace weft
