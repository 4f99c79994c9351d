#include "weft/ops/formats/tq1_0.h"

#include "formats/codec.h"
#include "formats/integer/ranges.h"

namespace weft {
namespace {

constexpr int kPowers[] = {1, 3, 9, 27, 81};

// Calls f(byte, trit, weight) for all places of a run of `n_bytes` bytes whose first weight is
// `first`.
template <class F>
void each_trit(int n_bytes, int n_trits, int first, F f) {
  for (int n = 0; n < n_trits; ++n) {
    for (int l = 0; l < n_bytes; ++l) f(l, n, first + n * n_bytes + l);
  }
}
template <class F>
void each_place(F f) {
  each_trit(32, 5, 0, [&](int l, int n, int i) { f(l, n, i); });
  each_trit(16, 5, 160, [&](int l, int n, int i) { f(32 + l, n, i); });
  each_trit(4, 4, 240, [&](int l, int n, int i) { f(48 + l, n, i); });
}

}  // namespace

void TQ1_0::decode(const Block& block, float* out) {
  const float d = f16_to_f32(block.d);
  each_place([&](int byte, int n, int i) {
    const int b = byte < 48 ? block.q[byte] : block.qh[byte - 48];
    const int trit = (b * kPowers[n] & 255) * 3 >> 8;
    out[i] = static_cast<float>(trit - 1) * d;
  });
}

void TQ1_0::encode(const float* in, Block& block) {
  const float d = formats::largest_magnitude(in, kBlock);
  const float inverse = formats::inverse_scale(d);
  block.d = formats::scale_to_f16(d);
  int digits[52] = {};  // in base 3, the first trit the highest
  each_place([&](int byte, int n, int i) {
    const int trit = static_cast<int>(std::round(in[i] * inverse)) + 1;
    digits[byte] += trit * kPowers[4 - n];
  });
  const auto fraction = [](int number) {
    return static_cast<std::uint8_t>((number * 256 + 242) / 243);
  };
  for (int l = 0; l < 48; ++l) block.q[l] = fraction(digits[l]);
  for (int l = 0; l < 4; ++l) block.qh[l] = fraction(digits[48 + l]);
}

namespace {

// Half of d = amax, and its rounding to f16.
double max_error(double amax) {
  return amax * (0.5 + 0x1p-11 + 0x1p-20) + 0x1p-25;
}

}  // namespace

const Format kTQ1_0Format{.dtype = tq1_0,
                          .decode = formats::decode_row<TQ1_0>,
                          .encode = formats::encode_row<TQ1_0>,
                          .max_error = max_error};

}  // namespace weft
