#pragma once
// IQ1_S: 256 weights in 8 sub-blocks of 32, w = (d * (2 * scale[s] + 1)) * (coordinate of a point
// of kIQ1Grid + shift[s]), shift of +- kIQ1Delta (iq_grids.h). A point codes 8 weights, its number
// has 11 bits, a scale 3.
//
//   bytes 0-1: d (f16)   bytes 2-33: q[32]   bytes 34-49: q_high[8] (u16)
//   50 B per 256 = 1.5625 bits per weight
//
//   point of weights 32*s + 8*i .. + 7: low 8 bits q[4*s + i], high 3 bits in bits 3*i + 2 .. 3*i
//   of q_high[s]. Also in q_high[s]: bits 14..12 scale[s], bit 15 set if the shift is negative.
//
// Source: block_iq1_s of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kIQ1_SInfo{"IQ1_S", 19, 256, 50};
inline constexpr DType iq1_s{&kIQ1_SInfo};

struct IQ1_S {
  static constexpr int kBlock = 256;
  static constexpr int kSub = 32;  // weights that share a scale and a shift
  static constexpr int kSubs = kBlock / kSub;
  struct Block {
    std::uint16_t d;
    std::uint8_t q[kBlock / 8];
    std::uint16_t q_high[kSubs];
  };
  static_assert(sizeof(Block) == 50 && offsetof(Block, d) == 0 && offsetof(Block, q) == 2 &&
                offsetof(Block, q_high) == 34);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  // Minimizes the squared error, weighted by `importance`.
  static void encode_weighted(const float* in, const float* importance, Block& block);
};

extern const Format kIQ1_SFormat;

}  // namespace weft
