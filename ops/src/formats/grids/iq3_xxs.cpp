#include "weft/ops/formats/iq3_xxs.h"

#include "formats/codec.h"
#include "formats/grids/iq_magnitudes.h"

namespace weft {

void IQ3_XXS::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int s = 0; s < kSubs; ++s) {
    std::uint32_t signs;
    std::memcpy(&signs, block.signs[s], sizeof(signs));
    const float scale = d * (0.5f + static_cast<float>(signs >> 28)) * 0.5f;
    const std::uint8_t* q = block.q + s * kSub / 4;
    for (int i = 0; i < kSub / 8; ++i, out += 8, q += 2) {
      formats::decode_eight(scale, even_signs(signs >> 7 * i & 127), out, kIQ3_XXSGrid[q[0]],
                            kIQ3_XXSGrid[q[1]]);
    }
  }
}

namespace {

using Search = formats::Magnitudes<IQ3_XXS, kIQ3_XXSGrid, kIQ3_XXSValues, true, 4>;

void search(const float* in, const float* importance, IQ3_XXS::Block& block) {
  formats::ScaleSearch<Search> search(in, importance);
  formats::ScaleSearch<Search>::Draft draft;
  block.d = search.run(draft);
  for (int s = 0; s < IQ3_XXS::kSubs; ++s) {
    const auto& from = draft.subs[s];
    std::uint32_t signs = static_cast<std::uint32_t>(from.level) << 28;
    for (int i = 0; i < IQ3_XXS::kSub / 8; ++i) {
      const formats::Eight& eight = from.codes.eights[i];
      std::uint8_t* q = block.q + s * IQ3_XXS::kSub / 4 + 2 * i;
      q[0] = static_cast<std::uint8_t>(eight.point[0]);
      q[1] = static_cast<std::uint8_t>(eight.point[1]);
      signs |= (eight.signs & 127u) << 7 * i;
    }
    std::memcpy(block.signs[s], &signs, sizeof(signs));
  }
}

}  // namespace

void IQ3_XXS::encode(const float* in, Block& block) {
  search(in, nullptr, block);
}

void IQ3_XXS::encode_weighted(const float* in, const float* importance, Block& block) {
  search(in, importance, block);
}

const Format kIQ3_XXSFormat{.dtype = iq3_xxs,
                            .decode = formats::decode_row<IQ3_XXS>,
                            .encode = formats::encode_row<IQ3_XXS>,
                            .encode_weighted = formats::encode_weighted_row<IQ3_XXS>};

}  // namespace weft
