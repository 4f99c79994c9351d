#include "weft/ops/formats/q6_k.h"

#include <algorithm>

#include "formats/codec.h"
#include "formats/integer/two_scales.h"

namespace weft {
namespace {

// Where weight i of a block keeps its bits: a nibble of ql and a pair of bits of qh.
struct Place {
  int ql, ql_shift, qh, qh_shift;
};
constexpr Place place(int i) {
  const int half = i / 128, quarter = i % 128 / 32, l = i % 32;
  return {half * 64 + quarter % 2 * 32 + l, quarter / 2 * 4, half * 32 + l, quarter * 2};
}

}  // namespace

void Q6_K::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < kBlock; ++i) {
    const Place p = place(i);
    const int low = block.ql[p.ql] >> p.ql_shift & 15;
    const int high = block.qh[p.qh] >> p.qh_shift & 3;
    const float scale = d * static_cast<float>(block.scale[i / kSub]);
    out[i] = scale * static_cast<float>((low | high << 4) - 32);
  }
}

namespace {

struct Encoder : Q6_K {
  static constexpr int kLowCode = -32, kHighCode = 31, kLowScale = -128, kHighScale = 127;
  static constexpr formats::Trials kTrials{31.1f, 0.2f, 10};
  using Found = formats::SymmetricBlock<formats::Blocks<kSub, kSubs>>;

  static void put(const Found& found, Block& block) {
    block.d = found.d;
    std::copy_n(found.scale, kSubs, block.scale);
    for (int i = 0; i < kBlock; ++i) {
      const Place p = place(i);
      const int code = found.q[i] + 32;
      block.ql[p.ql] = static_cast<std::uint8_t>(block.ql[p.ql] | (code & 15) << p.ql_shift);
      block.qh[p.qh] = static_cast<std::uint8_t>(block.qh[p.qh] | (code >> 4) << p.qh_shift);
    }
  }
};

}  // namespace

const Format kQ6_KFormat{.dtype = q6_k,
                         .decode = formats::decode_row<Q6_K>,
                         .encode = formats::SymmetricEncoder<Encoder>::encode,
                         .encode_weighted = formats::SymmetricEncoder<Encoder>::encode_weighted};

}  // namespace weft
