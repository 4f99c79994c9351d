#pragma once
// IQ1_M: 256 weights in 16 sub-blocks of 16, w = (d * (2 * scale[s] + 1)) * (coordinate of a point
// of kIQ1Grid + shift of the point), shift of +- kIQ1Delta (iq_grids.h). A point codes 8 weights,
// its number has 11 bits, a scale 3.
//
//   bytes 0-31: q[32]   bytes 32-47: q_high[16]   bytes 48-55: scales[4] (u16)
//   56 B per 256 = 1.75 bits per weight
//
//   point of weights 8*i .. 8*i + 7: low 8 bits q[i]; q_high[i / 2], low nibble for even i:
//   bits 2..0 the high 3 bits, bit 3 is set if the shift is negative. scales[n]: bits 11..0
//   scale[4*n + 3] .. scale[4*n], 3 bits each; bits 15..12 the bits 4*n + 3 .. 4*n of d (f16).
//
// Source: block_iq1_m of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kIQ1_MInfo{"IQ1_M", 29, 256, 56};
inline constexpr DType iq1_m{&kIQ1_MInfo};

struct IQ1_M {
  static constexpr int kBlock = 256;
  static constexpr int kSub = 16;  // weights that share a scale
  static constexpr int kSubs = kBlock / kSub;
  struct Block {
    std::uint8_t q[kBlock / 8];
    std::uint8_t q_high[kBlock / 16];
    std::uint16_t scales[kSubs / 4];
  };
  static_assert(sizeof(Block) == 56 && offsetof(Block, q) == 0 && offsetof(Block, q_high) == 32 &&
                offsetof(Block, scales) == 48);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  // Both minimize the squared error; the second one weights it by `importance`.
  static void encode(const float* in, Block& block);
  static void encode_weighted(const float* in, const float* importance, Block& block);
};

extern const Format kIQ1_MFormat;

}  // namespace weft
