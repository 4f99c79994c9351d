#pragma once
// IQ3_S: 256 weights in 8 sub-blocks of 32, w = (d * (1 + 2 * scale[s])) * (+- coordinate of a
// point of kIQ3_SGrid, iq_grids.h). A point codes 4 weights, its number has 9 bits, a scale 4.
//
//   bytes 0-1: d (f16)   bytes 2-65: q[64]   bytes 66-73: q_high[8]   bytes 74-105: signs[32]
//   bytes 106-109: scales[4]
//   110 B per 256 = 3.4375 bits per weight
//
//   point of weights 4*i .. 4*i + 3: low 8 bits q[i], high bit in bit i % 8 of q_high[i / 8].
//   Weight 8*i + j is negative if bit j of signs[i] is set.
//   scale[s]: low nibble of scales[s / 2] for even s, high nibble for odd s.
//
// Source: block_iq3_s of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kIQ3_SInfo{"IQ3_S", 21, 256, 110};
inline constexpr DType iq3_s{&kIQ3_SInfo};

struct IQ3_S {
  static constexpr int kBlock = 256;
  static constexpr int kSub = 32;  // weights that share a scale
  static constexpr int kSubs = kBlock / kSub;
  struct Block {
    std::uint16_t d;
    std::uint8_t q[kBlock / 4];
    std::uint8_t q_high[kBlock / 32];
    std::uint8_t signs[kBlock / 8];
    std::uint8_t scales[kSubs / 2];
  };
  static_assert(sizeof(Block) == 110 && offsetof(Block, d) == 0 && offsetof(Block, q) == 2 &&
                offsetof(Block, q_high) == 66 && offsetof(Block, signs) == 74 &&
                offsetof(Block, scales) == 106);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  // Both minimize the squared error; the second one weights it by `importance`.
  static void encode(const float* in, Block& block);
  static void encode_weighted(const float* in, const float* importance, Block& block);
};

extern const Format kIQ3_SFormat;

}  // namespace weft
