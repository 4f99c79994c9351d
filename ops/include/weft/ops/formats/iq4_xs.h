#pragma once
// IQ4_XS: 256 weights in 8 sub-blocks of 32, w = (d * (scale[s] - 32)) * kIQ4Values[q], scale of 6
// bits, q of 4 bits (iq_grids.h).
//
//   bytes 0-1: d (f16)   bytes 2-3: scale_high (u16)   bytes 4-7: scale_low[4]
//   bytes 8-135: q[128]
//   136 B per 256 = 4.25 bits per weight
//
//   scale[s]: low 4 bits in scale_low[s / 2], low nibble for even s; high 2 bits in bits 2s + 1..2s
//   of scale_high.
//   q: byte 16*s + j holds weight 32*s + j in its low nibble and weight 32*s + 16 + j in its high
//   nibble.
//
// Source: block_iq4_xs of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kIQ4_XSInfo{"IQ4_XS", 23, 256, 136};
inline constexpr DType iq4_xs{&kIQ4_XSInfo};

struct IQ4_XS {
  static constexpr int kBlock = 256;
  static constexpr int kSub = 32;  // weights that share a scale
  static constexpr int kSubs = kBlock / kSub;
  struct Block {
    std::uint16_t d;
    std::uint16_t scale_high;
    std::uint8_t scale_low[kSubs / 2];
    std::uint8_t q[kBlock / 2];
  };
  static_assert(sizeof(Block) == 136 && offsetof(Block, d) == 0 &&
                offsetof(Block, scale_high) == 2 && offsetof(Block, scale_low) == 4 &&
                offsetof(Block, q) == 8);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  // Both minimize the squared error; the second one weights it by `importance`.
  static void encode(const float* in, Block& block);
  static void encode_weighted(const float* in, const float* importance, Block& block);
};

extern const Format kIQ4_XSFormat;

}  // namespace weft
