#pragma once
// Q2_K: 256 weights in 16 sub-blocks of 16, w = (d * scale[s]) * q - (dmin * min[s]), q of 2 bits,
// scale and min of 4 bits.
//
//   bytes 0-15: scales[16]   bytes 16-79: q[64]   bytes 80-81: d (f16)   bytes 82-83: dmin (f16)
//   84 B per 256 = 2.625 bits per weight
//
//   byte s of scales holds scale[s] in its low nibble and min[s] in its high nibble.
//   byte 32*h + l of q holds weight 128*h + 32*n + l in bits 2n+1..2n (h in 0..1, l in 0..31).
//
// Source: block_q2_K of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kQ2_KInfo{"Q2_K", 10, 256, 84};
inline constexpr DType q2_k{&kQ2_KInfo};

struct Q2_K {
  static constexpr int kBlock = 256;
  static constexpr int kSub = 16;  // weights that share a scale and a minimum
  static constexpr int kSubs = kBlock / kSub;
  struct Block {
    std::uint8_t scales[kSubs];
    std::uint8_t q[kBlock / 4];
    std::uint16_t d;
    std::uint16_t dmin;
  };
  static_assert(sizeof(Block) == 84 && offsetof(Block, scales) == 0 && offsetof(Block, q) == 16 &&
                offsetof(Block, d) == 80 && offsetof(Block, dmin) == 82);

  static void decode(const Block& block, float* out);  // out: kBlock floats
};

extern const Format kQ2_KFormat;

}  // namespace weft
