#include "weft/ops/formats/iq2_xs.h"

#include "formats/codec.h"
#include "formats/grids/iq_magnitudes.h"

namespace weft {

void IQ2_XS::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < kBlock / 8; ++i, out += 8) {
    const int level = block.scales[i / 4] >> 4 * (i / 2 % 2) & 15;
    const float scale = d * (0.5f + static_cast<float>(level)) * 0.25f;
    formats::decode_eight(scale, even_signs(block.q[i] >> 9), out, kIQ2_XSGrid[block.q[i] & 511]);
  }
}

namespace {

using Search = formats::Magnitudes<IQ2_XS, kIQ2_XSGrid, kIQ2Values, true, 8>;

void search(const float* in, const float* importance, IQ2_XS::Block& block) {
  formats::ScaleSearch<Search> search(in, importance);
  formats::ScaleSearch<Search>::Draft draft;
  block.d = search.run(draft);
  for (int s = 0; s < IQ2_XS::kSubs; ++s) {
    const auto& from = draft.subs[s];
    block.scales[s / 2] |= static_cast<std::uint8_t>(from.level << 4 * (s % 2));
    for (int i = 0; i < 2; ++i) {
      const formats::Eight& eight = from.codes.eights[i];
      block.q[2 * s + i] = static_cast<std::uint16_t>(eight.point[0] | (eight.signs & 127) << 9);
    }
  }
}

}  // namespace

void IQ2_XS::encode_weighted(const float* in, const float* importance, Block& block) {
  search(in, importance, block);
}

const Format kIQ2_XSFormat{.dtype = iq2_xs,
                           .decode = formats::decode_row<IQ2_XS>,
                           .encode_weighted = formats::encode_weighted_row<IQ2_XS>};

}  // namespace weft
