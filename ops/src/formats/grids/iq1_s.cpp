#include "weft/ops/formats/iq1_s.h"

#include "formats/codec.h"
#include "formats/grids/iq1.h"

namespace weft {

void IQ1_S::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < kBlock / 8; ++i, out += 8) {
    const unsigned high = block.q_high[i / 4];
    const float scale = d * static_cast<float>(2 * (high >> 12 & 7) + 1);
    formats::decode_shifted(scale, high >> 15, block.q[i] | (high >> 3 * (i % 4) & 7) << 8, out);
  }
}

namespace {

struct Search : formats::Ternary<IQ1_S> {
  static constexpr int kVariants = 2;  // the sign of the shift
  static formats::Sums quantize(const float* x, const float* w, float scale, int negative,
                                Codes& codes) {
    formats::Sums sums;
    for (int i = 0; i < kSub / 8; ++i) {
      codes.negative[i] = negative;
      sums += formats::quantize_shifted(x + 8 * i, w + 8 * i, scale, negative, codes.point[i]);
    }
    return sums;
  }
};

void search(const float* in, const float* importance, IQ1_S::Block& block) {
  formats::ScaleSearch<Search> search(in, importance);
  formats::ScaleSearch<Search>::Draft draft;
  block.d = search.run(draft);
  for (int s = 0; s < IQ1_S::kSubs; ++s) {
    const auto& from = draft.subs[s];
    int high = from.level << 12 | from.variant << 15;
    for (int i = 0; i < 4; ++i) {
      block.q[4 * s + i] = static_cast<std::uint8_t>(from.codes.point[i]);
      high |= from.codes.point[i] >> 8 << 3 * i;
    }
    block.q_high[s] = static_cast<std::uint16_t>(high);
  }
}

}  // namespace

void IQ1_S::encode_weighted(const float* in, const float* importance, Block& block) {
  search(in, importance, block);
}

const Format kIQ1_SFormat{.dtype = iq1_s,
                          .decode = formats::decode_row<IQ1_S>,
                          .encode_weighted = formats::encode_weighted_row<IQ1_S>};

}  // namespace weft
