#pragma once
// Q5_0: 32 weights, w = d * (q - 16), q of 5 bits.
//
//   bytes 0-1: d (f16)   bytes 2-5: high[4]   bytes 6-21: q[16]      22 B per 32 = 5.5 bits per
//   weight
//
//   byte j of q holds the low 4 bits of weight j in its low nibble and those of weight j + 16 in
//   its high nibble. Bit i of `high`, a little-endian u32, is the fifth bit of weight i.
//
// Source: block_q5_0 of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kQ5_0Info{"Q5_0", 6, 32, 22};
inline constexpr DType q5_0{&kQ5_0Info};

struct Q5_0 {
  static constexpr int kBlock = 32;
  struct Block {
    std::uint16_t d;
    std::uint8_t high[4];
    std::uint8_t q[kBlock / 2];
  };
  static_assert(sizeof(Block) == 22 && offsetof(Block, d) == 0 && offsetof(Block, high) == 2 &&
                offsetof(Block, q) == 6);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  static void encode(const float* in, Block& block);
  static void put_codes(const std::uint8_t* codes, Block& block);  // codes: kBlock of them
};

extern const Format kQ5_0Format;

}  // namespace weft
