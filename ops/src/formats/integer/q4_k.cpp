#include "weft/ops/formats/q4_k.h"

#include <algorithm>

#include "formats/codec.h"
#include "formats/integer/two_scales.h"

namespace weft {

Q4_K::Scales Q4_K::unpack_scales(const std::uint8_t (&packed)[12]) {
  Scales s;
  for (int i = 0; i < 4; ++i) {
    s.scale[i] = packed[i] & 63;
    s.min[i] = packed[i + 4] & 63;
    s.scale[i + 4] = static_cast<std::uint8_t>((packed[i + 8] & 15) | (packed[i] >> 6) << 4);
    s.min[i + 4] = static_cast<std::uint8_t>(packed[i + 8] >> 4 | (packed[i + 4] >> 6) << 4);
  }
  return s;
}

void Q4_K::pack_scales(const Scales& s, std::uint8_t (&packed)[12]) {
  for (int i = 0; i < 4; ++i) {
    packed[i] = static_cast<std::uint8_t>(s.scale[i] | (s.scale[i + 4] >> 4) << 6);
    packed[i + 4] = static_cast<std::uint8_t>(s.min[i] | (s.min[i + 4] >> 4) << 6);
    packed[i + 8] = static_cast<std::uint8_t>((s.scale[i + 4] & 15) | (s.min[i + 4] & 15) << 4);
  }
}

void Q4_K::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  const float dmin = f16_to_f32(block.dmin);
  const Scales s = unpack_scales(block.scales);
  for (int sub = 0; sub < kSubs; ++sub) {
    const float scale = d * static_cast<float>(s.scale[sub]);
    const float min = dmin * static_cast<float>(s.min[sub]);
    const std::uint8_t* q = block.q + sub / 2 * kSub;
    for (int i = 0; i < kSub; ++i) {
      const int code = sub % 2 ? q[i] >> 4 : q[i] & 15;
      out[sub * kSub + i] = scale * static_cast<float>(code) - min;
    }
  }
}

namespace {

struct Encoder : Q4_K {
  static constexpr int kTopCode = 15, kTopScale = 63, kReach = 1;
  static constexpr formats::Trials kTrials{13.8f, 0.1f, 25};
  using Found = formats::AffineBlock<formats::Blocks<kSub, kSubs>>;

  static void put(const Found& found, Block& block) {
    Scales scales;
    std::copy_n(found.scale, kSubs, scales.scale);
    std::copy_n(found.min, kSubs, scales.min);
    pack_scales(scales, block.scales);
    block.d = found.d;
    block.dmin = found.dmin;
    for (int g = 0; g < kBlock / 64; ++g) {
      for (int l = 0; l < kSub; ++l) {
        block.q[32 * g + l] =
            static_cast<std::uint8_t>(found.q[64 * g + l] | found.q[64 * g + 32 + l] << 4);
      }
    }
  }
};

}  // namespace

const Format kQ4_KFormat{.dtype = q4_k,
                         .decode = formats::decode_row<Q4_K>,
                         .encode = formats::AffineEncoder<Encoder>::encode,
                         .encode_weighted = formats::AffineEncoder<Encoder>::encode_weighted};

}  // namespace weft
