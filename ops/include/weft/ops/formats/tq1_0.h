#pragma once
// TQ1_0: 256 weights, w = d * (t - 1), t of three values ("trit"), five of them to a byte.
//
//   bytes 0-47: q[48]   bytes 48-51: qh[4]   bytes 52-53: d (f16)
//   54 B per 256 = 1.6875 bits per weight
//
//   A byte b holds five trits as the fraction b / 256 in base 3, rounded up: trit n is the whole
//   part of 3 * frac(3^n * b / 256).
//   weight               trit n of
//   32*n + l             q[l]         l in 0..31, n in 0..4: weights 0-159
//   160 + 16*n + l       q[32 + l]    l in 0..15, n in 0..4: weights 160-239
//   240 + 4*n + l        qh[l]        l in 0..3, n in 0..3: weights 240-255; trit 4 is 0
//
// Source: block_tq1_0 of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kTQ1_0Info{"TQ1_0", 34, 256, 54};
inline constexpr DType tq1_0{&kTQ1_0Info};

struct TQ1_0 {
  static constexpr int kBlock = 256;
  struct Block {
    std::uint8_t q[48];
    std::uint8_t qh[4];
    std::uint16_t d;
  };
  static_assert(sizeof(Block) == 54 && offsetof(Block, q) == 0 && offsetof(Block, qh) == 48 &&
                offsetof(Block, d) == 52);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  static void encode(const float* in, Block& block);
};

extern const Format kTQ1_0Format;

}  // namespace weft
