#include "weft/ops/formats/iq2_xxs.h"

#include "formats/codec.h"
#include "formats/grids/iq_magnitudes.h"

namespace weft {

void IQ2_XXS::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (const Sub& sub : block.subs) {
    std::uint32_t signs;
    std::memcpy(&signs, sub.signs, sizeof(signs));
    const float scale = d * (0.5f + static_cast<float>(signs >> 28)) * 0.25f;
    for (int i = 0; i < kSub / 8; ++i, out += 8)
      formats::decode_eight(scale, even_signs(signs >> 7 * i & 127), out, kIQ2_XXSGrid[sub.q[i]]);
  }
}

namespace {

using Search = formats::Magnitudes<IQ2_XXS, kIQ2_XXSGrid, kIQ2Values, true, 8>;

void search(const float* in, const float* importance, IQ2_XXS::Block& block) {
  formats::ScaleSearch<Search> search(in, importance);
  formats::ScaleSearch<Search>::Draft draft;
  block.d = search.run(draft);
  for (int s = 0; s < IQ2_XXS::kSubs; ++s) {
    const auto& from = draft.subs[s];
    IQ2_XXS::Sub& to = block.subs[s];
    std::uint32_t signs = static_cast<std::uint32_t>(from.level) << 28;
    for (int i = 0; i < IQ2_XXS::kSub / 8; ++i) {
      const formats::Eight& eight = from.codes.eights[i];
      to.q[i] = static_cast<std::uint8_t>(eight.point[0]);
      signs |= (eight.signs & 127u) << 7 * i;
    }
    std::memcpy(to.signs, &signs, sizeof(signs));
  }
}

}  // namespace

void IQ2_XXS::encode_weighted(const float* in, const float* importance, Block& block) {
  search(in, importance, block);
}

const Format kIQ2_XXSFormat{.dtype = iq2_xxs,
                            .decode = formats::decode_row<IQ2_XXS>,
                            .encode_weighted = formats::encode_weighted_row<IQ2_XXS>};

}  // namespace weft
