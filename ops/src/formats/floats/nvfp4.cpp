#include "weft/ops/formats/nvfp4.h"

#include <algorithm>
#include <bit>

#include "formats/codec.h"
#include "formats/floats/e2m1.h"
#include "formats/integer/ranges.h"

namespace weft {

// The bits of a scale are those of a float with another bias.
float NVFP4::half_scale(std::uint8_t scale) {
  if (scale == 0x7f) return 0;
  return std::bit_cast<float>((scale & 0x7fu) << 20) * 0x1p119f;
}

void NVFP4::decode(const Block& block, float* out) {
  for (int s = 0; s < kSubs; ++s) {
    const float d = half_scale(block.scale[s]);
    for (int j = 0; j < kSub / 2; ++j) {
      const std::uint8_t q = block.q[s * kSub / 2 + j];
      out[s * kSub + j] = static_cast<float>(formats::kE2M1Doubled[q & 15]) * d;
      out[s * kSub + kSub / 2 + j] = static_cast<float>(formats::kE2M1Doubled[q >> 4]) * d;
    }
  }
}

namespace {

constexpr int kTopScale = 0x7e;  // 448
constexpr float kTopValue = 6;   // the largest E2M1 number

// The nearest scale; ties go to the larger one.
int nearest_scale(float x) {
  if (!(x > 0)) return 0;
  if (x >= 448) return kTopScale;
  // Below 2^-6 the scales are multiples of 2^-9; above there are 8 to a power of two.
  const int e = std::max(std::ilogb(x), -6);
  const int eighths = static_cast<int>(std::ldexp(x, 3 - e) + 0.5f);
  const int code = (e + 6) * 8 + eighths;
  return std::min(code, kTopScale);
}

void put_codes(const float* in, int s, NVFP4::Block& block) {
  constexpr int kHalf = NVFP4::kSub / 2;
  const float d = NVFP4::half_scale(block.scale[s]);
  for (int j = 0; j < kHalf; ++j) {
    const int low = formats::nearest_e2m1(in[j], d);
    const int high = formats::nearest_e2m1(in[kHalf + j], d);
    block.q[s * kHalf + j] = static_cast<std::uint8_t>(low | high << 4);
  }
}

// The scale with the smallest weighted squared error, from the one that clamps the largest
// magnitude to 4/6 of itself to just past the one that encodes it as the second largest number.
int best_scale(const float* x, const float* weights) {
  const int wanted = nearest_scale(formats::largest_magnitude(x, NVFP4::kSub) / kTopValue);
  const int first = std::clamp(wanted - 7, 0, kTopScale + 1 - formats::kLanes);
  float scales[formats::kLanes], errors[formats::kLanes];
  for (int i = 0; i < formats::kLanes; ++i)
    scales[i] = NVFP4::half_scale(static_cast<std::uint8_t>(first + i));
  formats::e2m1_errors(x, weights, NVFP4::kSub, scales, errors);
  const auto best = static_cast<int>(std::min_element(errors, errors + formats::kLanes) - errors);
  return errors[wanted - first] <= errors[best] ? wanted : first + best;
}

}  // namespace

void NVFP4::encode(const float* in, Block& block) {
  float ones[kBlock];
  std::fill(ones, ones + kBlock, 1.0f);
  encode_weighted(in, ones, block);
}

void NVFP4::encode_weighted(const float* in, const float* importance, Block& block) {
  for (int s = 0; s < kSubs; ++s) {
    const float* x = in + s * kSub;
    block.scale[s] = static_cast<std::uint8_t>(best_scale(x, importance + s * kSub));
    put_codes(x, s, block);
  }
}

const Format kNVFP4Format{.dtype = nvfp4,
                          .decode = formats::decode_row<NVFP4>,
                          .encode = formats::encode_row<NVFP4>,
                          .encode_weighted = formats::encode_weighted_row<NVFP4>};

}  // namespace weft
