#include "weft/ops/formats/q3_k.h"

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
constexpr int kScaleZero = 32, kCodeZero = 4;

}  // namespace

void Q3_K::unpack_scales(const std::uint8_t (&packed)[12], std::int8_t (&scales)[kSubs]) {
  for (int s = 0; s < kSubs; ++s) {
    const int low = packed[s % 8] >> s / 8 * 4 & 15;
    const int high = packed[8 + s % 4] >> s / 4 * 2 & 3;
    scales[s] = static_cast<std::int8_t>((low | high << 4) - kScaleZero);
  }
}

void Q3_K::pack_scales(const std::int8_t (&scales)[kSubs], std::uint8_t (&packed)[12]) {
  for (auto& byte : packed) byte = 0;
  for (int s = 0; s < kSubs; ++s) {
    const int scale = scales[s] + kScaleZero;
    auto& low = packed[s % 8];
    low = static_cast<std::uint8_t>(low | (scale & 15) << s / 8 * 4);
    auto& high = packed[8 + s % 4];
    high = static_cast<std::uint8_t>(high | scale >> 4 << s / 4 * 2);
  }
}

void Q3_K::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  std::int8_t scales[kSubs];
  unpack_scales(block.scales, scales);
  for (int i = 0; i < kBlock; ++i) {
    const float scale = d * static_cast<float>(scales[i / kSub]);
    const int low = block.q[byte_of(i)] >> shift_of(i) & 3;
    const int high = block.high[i % 32] >> i / 32 & 1;
    out[i] = scale * static_cast<float>((low | high << 2) - kCodeZero);
  }
}

namespace {

struct Encoder : Q3_K {
  static constexpr int kLowCode = -4, kHighCode = 3, kLowScale = -32, kHighScale = 31;
  static constexpr formats::Trials kTrials{2.6f, 0.1f, 22};
  using Found = formats::SymmetricBlock<formats::Blocks<kSub, kSubs>>;

  static void put(const Found& found, Block& block) {
    block.d = found.d;
    pack_scales(found.scale, block.scales);
    for (int i = 0; i < kBlock; ++i) {
      const int code = found.q[i] + kCodeZero;
      auto& low = block.q[byte_of(i)];
      low = static_cast<std::uint8_t>(low | (code & 3) << shift_of(i));
      auto& high = block.high[i % 32];
      high = static_cast<std::uint8_t>(high | code >> 2 << i / 32);
    }
  }
};

}  // namespace

const Format kQ3_KFormat{.dtype = q3_k,
                         .decode = formats::decode_row<Q3_K>,
                         .encode = formats::SymmetricEncoder<Encoder>::encode,
                         .encode_weighted = formats::SymmetricEncoder<Encoder>::encode_weighted};

}  // namespace weft
