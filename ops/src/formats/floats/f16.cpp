#include "weft/ops/formats/f16.h"

#include <algorithm>

#include "formats/codec.h"

namespace weft {
namespace {

struct Codec {
  static constexpr int kBlock = 1;
  using Block = std::uint16_t;
  static void decode(Block block, float* out) { *out = f16_to_f32(block); }
  static void encode(const float* in, Block& block) { block = f32_to_f16(*in); }
};

// Half a unit in the last place of 11 bits; below 2^-14 the unit stays 2^-24. Past 65504 there is
// no bound.
double max_error(double amax) {
  return std::max(amax * 0x1p-11, 0x1p-25);
}

}  // namespace

const Format kF16Format{.dtype = f16,
                        .decode = formats::decode_row<Codec>,
                        .encode = formats::encode_row<Codec>,
                        .max_error = max_error};

}  // namespace weft
