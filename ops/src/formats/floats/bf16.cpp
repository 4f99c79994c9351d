#include "weft/ops/formats/bf16.h"

#include <algorithm>

#include "formats/codec.h"

namespace weft {
namespace {

struct Codec {
  static constexpr int kBlock = 1;
  using Block = std::uint16_t;
  static void decode(Block block, float* out) { *out = bf16_to_f32(block); }
  static void encode(const float* in, Block& block) { block = f32_to_bf16(*in); }
};

// Half a unit in the last place of 8 bits, or of the smallest subnormal.
double max_error(double amax) {
  return std::max(amax * 0x1p-8, 0x1p-134);
}

}  // namespace

const Format kBF16Format{.dtype = bf16,
                         .decode = formats::decode_row<Codec>,
                         .encode = formats::encode_row<Codec>,
                         .max_error = max_error};

}  // namespace weft
