#include "weft/ops/formats/iq3_s.h"

#include "formats/codec.h"
#include "formats/grids/iq_magnitudes.h"

namespace weft {

void IQ3_S::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  const auto point = [&](int i) -> const GridPoint<4>& {
    return kIQ3_SGrid[static_cast<std::size_t>(block.q[i] | (block.q_high[i / 8] >> i % 8 & 1)
                                                                << 8)];
  };
  for (int i = 0; i < kBlock / 8; ++i, out += 8) {
    const int level = block.scales[i / 8] >> 4 * (i / 4 % 2) & 15;
    const float scale = d * static_cast<float>(1 + 2 * level);
    formats::decode_eight(scale, block.signs[i], out, point(2 * i), point(2 * i + 1));
  }
}

namespace {

using Search = formats::Magnitudes<IQ3_S, kIQ3_SGrid, kIQ3_SValues, false, 1>;

void search(const float* in, const float* importance, IQ3_S::Block& block) {
  formats::ScaleSearch<Search> search(in, importance);
  formats::ScaleSearch<Search>::Draft draft;
  block.d = search.run(draft);
  for (int i = 0; i < IQ3_S::kBlock / 8; ++i) {
    const auto& from = draft.subs[i / 4];
    const formats::Eight& eight = from.codes.eights[i % 4];
    if (i % 4 == 0) block.scales[i / 8] |= static_cast<std::uint8_t>(from.level << 4 * (i / 4 % 2));
    for (int n = 2 * i; n < 2 * i + 2; ++n) {
      block.q[n] = static_cast<std::uint8_t>(eight.point[n % 2]);
      block.q_high[n / 8] |= static_cast<std::uint8_t>(eight.point[n % 2] >> 8 << n % 8);
    }
    block.signs[i] = eight.signs;
  }
}

}  // namespace

void IQ3_S::encode(const float* in, Block& block) {
  search(in, nullptr, block);
}

void IQ3_S::encode_weighted(const float* in, const float* importance, Block& block) {
  search(in, importance, block);
}

const Format kIQ3_SFormat{.dtype = iq3_s,
                          .decode = formats::decode_row<IQ3_S>,
                          .encode = formats::encode_row<IQ3_S>,
                          .encode_weighted = formats::encode_weighted_row<IQ3_S>};

}  // namespace weft
