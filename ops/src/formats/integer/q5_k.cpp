#include "weft/ops/formats/q5_k.h"

#include <algorithm>

#include "weft/ops/formats/q4_k.h"

#include "formats/codec.h"
#include "formats/integer/two_scales.h"

namespace weft {

void Q5_K::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  const float dmin = f16_to_f32(block.dmin);
  const Q4_K::Scales s = Q4_K::unpack_scales(block.scales);
  for (int sub = 0; sub < kSubs; ++sub) {
    const float scale = d * static_cast<float>(s.scale[sub]);
    const float min = dmin * static_cast<float>(s.min[sub]);
    const std::uint8_t* q = block.q + sub / 2 * kSub;
    for (int i = 0; i < kSub; ++i) {
      const int low = sub % 2 ? q[i] >> 4 : q[i] & 15;
      const int code = low | (block.high[i] >> sub & 1) << 4;
      out[sub * kSub + i] = scale * static_cast<float>(code) - min;
    }
  }
}

namespace {

struct Encoder : Q5_K {
  static constexpr int kTopCode = 31, kTopScale = 63, kReach = 1;
  static constexpr formats::Trials kTrials{29.8f, 0.2f, 13};
  using Found = formats::AffineBlock<formats::Blocks<kSub, kSubs>>;

  static void put(const Found& found, Block& block) {
    Q4_K::Scales scales;
    std::copy_n(found.scale, kSubs, scales.scale);
    std::copy_n(found.min, kSubs, scales.min);
    Q4_K::pack_scales(scales, block.scales);
    block.d = found.d;
    block.dmin = found.dmin;
    for (int g = 0; g < kBlock / 64; ++g) {
      for (int l = 0; l < kSub; ++l) {
        const int low = found.q[64 * g + l], high = found.q[64 * g + 32 + l];
        block.q[32 * g + l] = static_cast<std::uint8_t>((low & 15) | (high & 15) << 4);
        block.high[l] =
            static_cast<std::uint8_t>(block.high[l] | (low >> 4 | high >> 4 << 1) << 2 * g);
      }
    }
  }
};

}  // namespace

const Format kQ5_KFormat{.dtype = q5_k,
                         .decode = formats::decode_row<Q5_K>,
                         .encode = formats::AffineEncoder<Encoder>::encode,
                         .encode_weighted = formats::AffineEncoder<Encoder>::encode_weighted};

}  // namespace weft
