#pragma once
// IQ2_S: 256 weights in 16 sub-blocks of 16, w = (d * (0.5 + scale[s]) * 0.25) * (+- coordinate of
// a point of kIQ2_SGrid, iq_grids.h). A point codes 8 weights, its number has 10 bits, a scale 4.
//
//   bytes 0-1: d (f16)   bytes 2-33: q[32]   bytes 34-65: signs[32]   bytes 66-73: q_high[8]
//   bytes 74-81: scales[8]
//   82 B per 256 = 2.5625 bits per weight
//
//   point of weights 8*i .. 8*i + 7: low 8 bits q[i], high 2 bits in bits 2*(i % 4) + 1 ..
//   2*(i % 4) of q_high[i / 4].
//   Weight 8*i + j is negative if bit j of signs[i] is set.
//   scale[s]: low nibble of scales[s / 2] for even s, high nibble for odd s.
//
// Source: block_iq2_s of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kIQ2_SInfo{"IQ2_S", 22, 256, 82};
inline constexpr DType iq2_s{&kIQ2_SInfo};

struct IQ2_S {
  static constexpr int kBlock = 256;
  static constexpr int kSub = 16;  // weights that share a scale
  static constexpr int kSubs = kBlock / kSub;
  struct Block {
    std::uint16_t d;
    std::uint8_t q[kBlock / 8];
    std::uint8_t signs[kBlock / 8];
    std::uint8_t q_high[kBlock / 32];
    std::uint8_t scales[kSubs / 2];
  };
  static_assert(sizeof(Block) == 82 && offsetof(Block, d) == 0 && offsetof(Block, q) == 2 &&
                offsetof(Block, signs) == 34 && offsetof(Block, q_high) == 66 &&
                offsetof(Block, scales) == 74);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  // Both minimize the squared error; the second one weights it by `importance`.
  static void encode(const float* in, Block& block);
  static void encode_weighted(const float* in, const float* importance, Block& block);
};

extern const Format kIQ2_SFormat;

}  // namespace weft
