#include "weft/ops/formats/iq1_m.h"

#include "formats/codec.h"
#include "formats/grids/iq1.h"

namespace weft {

void IQ1_M::decode(const Block& block, float* out) {
  unsigned bits = 0;
  for (int i = 0; i < 4; ++i) bits |= static_cast<unsigned>(block.scales[i] >> 12) << 4 * i;
  const float d = f16_to_f32(static_cast<std::uint16_t>(bits));
  for (int i = 0; i < kBlock / 8; ++i, out += 8) {
    const unsigned high = block.q_high[i / 2] >> 4 * (i % 2) & 15;
    const float scale =
        d * static_cast<float>(2 * (block.scales[i / 8] >> 3 * (i / 2 % 4) & 7) + 1);
    formats::decode_shifted(scale, high >> 3, block.q[i] | (high & 7) << 8, out);
  }
}

namespace {

struct Search : formats::Ternary<IQ1_M> {
  static constexpr int kVariants = 1;
  static formats::Sums quantize(const float* x, const float* w, float scale, int, Codes& codes) {
    formats::Sums sums;
    for (int i = 0; i < kSub / 8; ++i) {
      formats::Sums best;
      for (int negative = 0; negative < 2; ++negative) {
        std::uint16_t point;
        const formats::Sums next =
            formats::quantize_shifted(x + 8 * i, w + 8 * i, scale, negative, point);
        if (negative == 1 && next.error(scale) >= best.error(scale)) continue;
        best = next;
        codes.point[i] = point;
        codes.negative[i] = negative;
      }
      sums += best;
    }
    return sums;
  }
};

void search(const float* in, const float* importance, IQ1_M::Block& block) {
  formats::ScaleSearch<Search> search(in, importance);
  formats::ScaleSearch<Search>::Draft draft;
  const unsigned d = search.run(draft);
  for (int i = 0; i < 4; ++i) block.scales[i] = static_cast<std::uint16_t>((d >> 4 * i & 15) << 12);
  for (int i = 0; i < IQ1_M::kBlock / 8; ++i) {
    const auto& from = draft.subs[i / 2];
    const int point = from.codes.point[i % 2];
    if (i % 2 == 0)
      block.scales[i / 8] |= static_cast<std::uint16_t>(from.level << 3 * (i / 2 % 4));
    block.q[i] = static_cast<std::uint8_t>(point);
    block.q_high[i / 2] |=
        static_cast<std::uint8_t>((point >> 8 | from.codes.negative[i % 2] << 3) << 4 * (i % 2));
  }
}

}  // namespace

void IQ1_M::encode(const float* in, Block& block) {
  search(in, nullptr, block);
}

void IQ1_M::encode_weighted(const float* in, const float* importance, Block& block) {
  search(in, importance, block);
}

const Format kIQ1_MFormat{.dtype = iq1_m,
                          .decode = formats::decode_row<IQ1_M>,
                          .encode = formats::encode_row<IQ1_M>,
                          .encode_weighted = formats::encode_weighted_row<IQ1_M>};

}  // namespace weft
