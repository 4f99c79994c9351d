#pragma once
// Q5_K: 256 weights in 8 sub-blocks of 32, w = (d * scale[s]) * q - (dmin * min[s]), q of 5 bits,
// scale and min of 6 bits.
//
//   bytes 0-1: d (f16)   bytes 2-3: dmin (f16)   bytes 4-15: scales[12], as in Q4_K
//   bytes 16-47: high[32]   bytes 48-175: q[128]
//   176 B per 256 = 5.5 bits per weight
//
//   q: byte 32*g + l holds the low 4 bits of weight 64*g + l in its low nibble and those of weight
//   64*g + 32 + l in its high nibble (g in 0..3, l in 0..31). Bit s of high[l] is the fifth bit of
//   weight 32*s + l.
//
// Source: block_q5_K of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kQ5_KInfo{"Q5_K", 13, 256, 176};
inline constexpr DType q5_k{&kQ5_KInfo};

struct Q5_K {
  static constexpr int kBlock = 256;
  static constexpr int kSub = 32;  // weights that share a scale and a minimum
  static constexpr int kSubs = kBlock / kSub;
  struct Block {
    std::uint16_t d;
    std::uint16_t dmin;
    std::uint8_t scales[12];
    std::uint8_t high[kBlock / 8];
    std::uint8_t q[kBlock / 2];
  };
  static_assert(sizeof(Block) == 176 && offsetof(Block, d) == 0 && offsetof(Block, dmin) == 2 &&
                offsetof(Block, scales) == 4 && offsetof(Block, high) == 16 &&
                offsetof(Block, q) == 48);

  static void decode(const Block& block, float* out);  // out: kBlock floats
};

extern const Format kQ5_KFormat;

}  // namespace weft
