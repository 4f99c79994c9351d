#pragma once
// Q4_0: 32 weights, w = d * (q - 8), q of 4 bits.
//
//   bytes 0-1: d (f16)      bytes 2-17: q[16]      18 B per 32 = 4.5 bits per weight
//
//   byte j of q holds weight j in its low nibble and weight j + 16 in its high nibble.
//
// Source: block_q4_0 of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kQ4_0Info{"Q4_0", 2, 32, 18};
inline constexpr DType q4_0{&kQ4_0Info};

struct Q4_0 {
  static constexpr int kBlock = 32;
  struct Block {
    std::uint16_t d;
    std::uint8_t q[kBlock / 2];
  };
  static_assert(sizeof(Block) == 18 && offsetof(Block, d) == 0 && offsetof(Block, q) == 2);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  static void encode(const float* in, Block& block);
  static void put_codes(const std::uint8_t* codes, Block& block);  // codes: kBlock of them
};

extern const Format kQ4_0Format;

}  // namespace weft
