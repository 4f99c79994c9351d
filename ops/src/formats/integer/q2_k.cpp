#include "weft/ops/formats/q2_k.h"

#include "formats/codec.h"
#include "formats/integer/two_scales.h"

namespace weft {
namespace {

constexpr int byte_of(int i) {
  return i / 128 * 32 + i % 32;
}
constexpr int shift_of(int i) {
  return i % 128 / 32 * 2;
}

}  // namespace

void Q2_K::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  const float dmin = f16_to_f32(block.dmin);
  for (int i = 0; i < kBlock; ++i) {
    const std::uint8_t packed = block.scales[i / kSub];
    const float scale = d * static_cast<float>(packed & 15);
    const float min = dmin * static_cast<float>(packed >> 4);
    const int code = block.q[byte_of(i)] >> shift_of(i) & 3;
    out[i] = scale * static_cast<float>(code) - min;
  }
}

namespace {

struct Encoder : Q2_K {
  static constexpr int kTopCode = 3, kTopScale = 15, kReach = 2;
  static constexpr formats::Trials kTrials{2.4f, 0.1f, 19};
  using Found = formats::AffineBlock<formats::Blocks<kSub, kSubs>>;

  static void put(const Found& found, Block& block) {
    block.d = found.d;
    block.dmin = found.dmin;
    for (int s = 0; s < kSubs; ++s)
      block.scales[s] = static_cast<std::uint8_t>(found.scale[s] | found.min[s] << 4);
    for (int i = 0; i < kBlock; ++i) {
      auto& byte = block.q[byte_of(i)];
      byte = static_cast<std::uint8_t>(byte | found.q[i] << shift_of(i));
    }
  }
};

}  // namespace

const Format kQ2_KFormat{.dtype = q2_k,
                         .decode = formats::decode_row<Q2_K>,
                         .encode = formats::AffineEncoder<Encoder>::encode,
                         .encode_weighted = formats::AffineEncoder<Encoder>::encode_weighted};

}  // namespace weft
