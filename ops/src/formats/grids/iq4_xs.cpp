#include "weft/ops/formats/iq4_xs.h"

#include "formats/codec.h"
#include "formats/grids/iq4.h"

namespace weft {

void IQ4_XS::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int s = 0; s < kSubs; ++s) {
    const int low = block.scale_low[s / 2] >> 4 * (s % 2) & 15;
    const int scale = low | (block.scale_high >> 2 * s & 3) << 4;
    formats::decode_sixteen(d * static_cast<float>(scale - 32), block.q + 16 * s, out + kSub * s);
  }
}

namespace {

using Search = formats::Sixteens<IQ4_XS::kSub, IQ4_XS::kSubs, 64>;

void search(const float* in, const float* importance, IQ4_XS::Block& block) {
  formats::ScaleSearch<Search> search(in, importance);
  formats::ScaleSearch<Search>::Draft draft;
  block.d = search.run(draft);
  for (int s = 0; s < IQ4_XS::kSubs; ++s) {
    const int level = draft.subs[s].level;
    block.scale_low[s / 2] |= static_cast<std::uint8_t>((level & 15) << 4 * (s % 2));
    block.scale_high = static_cast<std::uint16_t>(block.scale_high | level >> 4 << 2 * s);
    formats::pack_sixteen(draft.subs[s].codes, block.q + 16 * s);
  }
}

}  // namespace

void IQ4_XS::encode(const float* in, Block& block) {
  search(in, nullptr, block);
}

void IQ4_XS::encode_weighted(const float* in, const float* importance, Block& block) {
  search(in, importance, block);
}

const Format kIQ4_XSFormat{.dtype = iq4_xs,
                           .decode = formats::decode_row<IQ4_XS>,
                           .encode = formats::encode_row<IQ4_XS>,
                           .encode_weighted = formats::encode_weighted_row<IQ4_XS>};

}  // namespace weft
