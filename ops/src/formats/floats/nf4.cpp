#include "weft/ops/formats/nf4.h"

#include <algorithm>

#include "formats/codec.h"
#include "formats/integer/ranges.h"

namespace weft {

void NF4::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  for (int i = 0; i < kBlock / 2; ++i) {
    out[i] = d * kValues[block.q[i] & 15];
    out[i + kBlock / 2] = d * kValues[block.q[i] >> 4];
  }
}

namespace {

// The code nearest to x: the number of midpoints between values that are below x.
int nearest(float x) {
  int code = 0;
  for (int i = 0; i < 15; ++i) code += x > (NF4::kValues[i] + NF4::kValues[i + 1]) / 2;
  return code;
}

void put_codes(const float* in, float d, NF4::Block& block) {
  const float inverse = formats::inverse_scale(d);
  block.d = formats::scale_to_f16(d);
  for (int i = 0; i < NF4::kBlock / 2; ++i) {
    const int low = nearest(in[i] * inverse), high = nearest(in[i + NF4::kBlock / 2] * inverse);
    block.q[i] = static_cast<std::uint8_t>(low | high << 4);
  }
}

}  // namespace

// The largest magnitude takes -1 or 1.
void NF4::encode(const float* in, Block& block) {
  put_codes(in, formats::largest_magnitude(in, kBlock), block);
}

// Tries smaller scales as well, each with the best one for its codes.
void NF4::encode_weighted(const float* in, const float* importance, Block& block) {
  const float amax = formats::largest_magnitude(in, kBlock);
  float best = amax;
  double min_error = HUGE_VAL;
  for (int k = 0; k <= 16; ++k) {
    const float inverse = formats::inverse_scale(amax * (1 - 0.025f * static_cast<float>(k)));
    double xx = 0, xv = 0, vv = 0;
    for (int i = 0; i < kBlock; ++i) {
      const double v = kValues[nearest(in[i] * inverse)];
      xx += importance[i] * double{in[i]} * in[i];
      xv += importance[i] * in[i] * v;
      vv += importance[i] * v * v;
    }
    if (vv <= 0) continue;
    const double error = xx - xv * xv / vv;
    if (error >= min_error) continue;
    min_error = error;
    best = static_cast<float>(xv / vv);
  }
  put_codes(in, best, block);
}

namespace {

// Half of the widest gap between numbers, d = amax, and its rounding to f16.
double max_error(double amax) {
  return amax * ((1 - 0.6961928f) / 2 + 0x1p-11 + 0x1p-20) + 0x1p-25;
}

}  // namespace

const Format kNF4Format{.dtype = nf4,
                        .decode = formats::decode_row<NF4>,
                        .encode = formats::encode_row<NF4>,
                        .encode_weighted = formats::encode_weighted_row<NF4>,
                        .max_error = max_error};

}  // namespace weft
