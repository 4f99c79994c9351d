#pragma once
// Q4_1: 32 weights, w = d * q + m, q of 4 bits.
//
//   bytes 0-1: d (f16)   bytes 2-3: m (f16)   bytes 4-19: q[16]      20 B per 32 = 5 bits per
//   weight
//
//   byte j of q holds weight j in its low nibble and weight j + 16 in its high nibble.
//
// Source: block_q4_1 of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kQ4_1Info{"Q4_1", 3, 32, 20};
inline constexpr DType q4_1{&kQ4_1Info};

struct Q4_1 {
  static constexpr int kBlock = 32;
  static constexpr int kTopCode = 15;
  struct Block {
    std::uint16_t d;
    std::uint16_t m;
    std::uint8_t q[kBlock / 2];
  };
  static_assert(sizeof(Block) == 20 && offsetof(Block, d) == 0 && offsetof(Block, m) == 2 &&
                offsetof(Block, q) == 4);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  static void encode(const float* in, Block& block);
  static void put_codes(const std::uint8_t* codes, Block& block);  // codes: kBlock of them
};

extern const Format kQ4_1Format;

}  // namespace weft
