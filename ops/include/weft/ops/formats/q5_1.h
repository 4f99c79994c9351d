#pragma once
// Q5_1: 32 weights, w = d * q + m, q of 5 bits.
//
//   bytes 0-1: d (f16)   bytes 2-3: m (f16)   bytes 4-7: high[4]   bytes 8-23: q[16]
//   24 B per 32 = 6 bits per weight
//
//   byte j of q holds the low 4 bits of weight j in its low nibble and those of weight j + 16 in
//   its high nibble. Bit i of `high`, a little-endian u32, is the fifth bit of weight i.
//
// Source: block_q5_1 of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kQ5_1Info{"Q5_1", 7, 32, 24};
inline constexpr DType q5_1{&kQ5_1Info};

struct Q5_1 {
  static constexpr int kBlock = 32;
  static constexpr int kTopCode = 31;
  struct Block {
    std::uint16_t d;
    std::uint16_t m;
    std::uint8_t high[4];
    std::uint8_t q[kBlock / 2];
  };
  static_assert(sizeof(Block) == 24 && offsetof(Block, d) == 0 && offsetof(Block, m) == 2 &&
                offsetof(Block, high) == 4 && offsetof(Block, q) == 8);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  static void encode(const float* in, Block& block);
  static void put_codes(const std::uint8_t* codes, Block& block);  // codes: kBlock of them
};

extern const Format kQ5_1Format;

}  // namespace weft
