#include "weft/ops/formats/mxfp4.h"

#include <algorithm>
#include <bit>

#include "formats/codec.h"
#include "formats/floats/e2m1.h"
#include "formats/integer/ranges.h"

namespace weft {

float MXFP4::half_scale(std::uint8_t e) {
  // 2^-128 and 2^-127 are subnormal.
  const std::uint32_t bits = e < 2 ? 0x00200000u << e : static_cast<std::uint32_t>(e - 1) << 23;
  return std::bit_cast<float>(bits);
}

void MXFP4::decode(const Block& block, float* out) {
  const float d = half_scale(block.e);
  for (int i = 0; i < kBlock / 2; ++i) {
    out[i] = static_cast<float>(formats::kE2M1Doubled[block.q[i] & 15]) * d;
    out[i + kBlock / 2] = static_cast<float>(formats::kE2M1Doubled[block.q[i] >> 4]) * d;
  }
}

namespace {

constexpr int kBias = 127;
constexpr int kTopExponent = 2;  // the largest E2M1 number is 1.5 * 2^2

void put_codes(const float* in, MXFP4::Block& block) {
  const float d = MXFP4::half_scale(block.e);
  for (int i = 0; i < MXFP4::kBlock / 2; ++i) {
    const int low = formats::nearest_e2m1(in[i], d);
    const int high = formats::nearest_e2m1(in[i + MXFP4::kBlock / 2], d);
    block.q[i] = static_cast<std::uint8_t>(low | high << 4);
  }
}

}  // namespace

// The exponent of the largest magnitude less that of the largest number, as the specification says.
void MXFP4::encode(const float* in, Block& block) {
  const float amax = formats::largest_magnitude(in, kBlock);
  block.e = amax > 0
                ? static_cast<std::uint8_t>(std::max(0, std::ilogb(amax) - kTopExponent + kBias))
                : 0;
  put_codes(in, block);
}

// Tries the next exponent as well.
void MXFP4::encode_weighted(const float* in, const float* importance, Block& block) {
  encode(in, block);
  const int next = std::min(block.e + 1, 254);
  float scales[formats::kLanes] = {half_scale(block.e),
                                   half_scale(static_cast<std::uint8_t>(next))};
  float errors[formats::kLanes];
  formats::e2m1_errors(in, importance, kBlock, scales, errors);
  if (errors[1] >= errors[0]) return;
  block.e = static_cast<std::uint8_t>(next);
  put_codes(in, block);
}

namespace {

// The largest magnitude may be almost 2^(k + 1), cut to 1.5 * 2^k; between numbers there is at most
// 2 * 2^(k - 2), half of that is less. Below 2^-128 all may become 0.
double max_error(double amax) {
  return amax * 0.25 + 0x1p-126;
}

}  // namespace

const Format kMXFP4Format{.dtype = mxfp4,
                          .decode = formats::decode_row<MXFP4>,
                          .encode = formats::encode_row<MXFP4>,
                          .encode_weighted = formats::encode_weighted_row<MXFP4>,
                          .max_error = max_error};

}  // namespace weft
