#include "weft/ops/formats/q1_0.h"

#include "formats/codec.h"

namespace weft {

void Q1_0::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < kBlock; ++i) out[i] = block.q[i / 8] >> i % 8 & 1 ? d : -d;
}

namespace {

void put_signs(const float* in, Q1_0::Block& block) {
  for (int b = 0; b < Q1_0::kBlock / 8; ++b) {
    int bits = 0;
    for (int i = 0; i < 8; ++i) bits |= (in[8 * b + i] >= 0) << i;
    block.q[b] = static_cast<std::uint8_t>(bits);
  }
}

}  // namespace

// The mean of the magnitudes has the smallest squared error.
void Q1_0::encode(const float* in, Block& block) {
  double sum = 0;
  for (int i = 0; i < kBlock; ++i) sum += std::fabs(in[i]);
  block.d = formats::scale_to_f16(static_cast<float>(sum / kBlock));
  put_signs(in, block);
}

void Q1_0::encode_weighted(const float* in, const float* importance, Block& block) {
  double sum = 0, weights = 0;
  for (int i = 0; i < kBlock; ++i) {
    sum += double{importance[i]} * std::fabs(in[i]);
    weights += importance[i];
  }
  if (weights <= 0) return encode(in, block);
  block.d = formats::scale_to_f16(static_cast<float>(sum / weights));
  put_signs(in, block);
}

const Format kQ1_0Format{.dtype = q1_0,
                         .decode = formats::decode_row<Q1_0>,
                         .encode = formats::encode_row<Q1_0>,
                         .encode_weighted = formats::encode_weighted_row<Q1_0>};

}  // namespace weft
