#include "weft/ops/formats/iq2_s.h"

#include "formats/codec.h"
#include "formats/grids/iq_magnitudes.h"

namespace weft {

void IQ2_S::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < kBlock / 8; ++i, out += 8) {
    const int level = block.scales[i / 4] >> 4 * (i / 2 % 2) & 15;
    const float scale = d * (0.5f + static_cast<float>(level)) * 0.25f;
    const int point = block.q[i] | (block.q_high[i / 4] >> 2 * (i % 4) & 3) << 8;
    formats::decode_eight(scale, block.signs[i], out, kIQ2_SGrid[static_cast<std::size_t>(point)]);
  }
}

namespace {

using Search = formats::Magnitudes<IQ2_S, kIQ2_SGrid, kIQ2Values, false, 8>;

void search(const float* in, const float* importance, IQ2_S::Block& block) {
  formats::ScaleSearch<Search> search(in, importance);
  formats::ScaleSearch<Search>::Draft draft;
  block.d = search.run(draft);
  for (int i = 0; i < IQ2_S::kBlock / 8; ++i) {
    const auto& from = draft.subs[i / 2];
    const formats::Eight& eight = from.codes.eights[i % 2];
    if (i % 2 == 0) block.scales[i / 4] |= static_cast<std::uint8_t>(from.level << 4 * (i / 2 % 2));
    block.q[i] = static_cast<std::uint8_t>(eight.point[0]);
    block.q_high[i / 4] |= static_cast<std::uint8_t>(eight.point[0] >> 8 << 2 * (i % 4));
    block.signs[i] = eight.signs;
  }
}

}  // namespace

void IQ2_S::encode(const float* in, Block& block) {
  search(in, nullptr, block);
}

void IQ2_S::encode_weighted(const float* in, const float* importance, Block& block) {
  search(in, importance, block);
}

const Format kIQ2_SFormat{.dtype = iq2_s,
                          .decode = formats::decode_row<IQ2_S>,
                          .encode = formats::encode_row<IQ2_S>,
                          .encode_weighted = formats::encode_weighted_row<IQ2_S>};

}  // namespace weft
