#pragma once
// Q1_0: 128 weights, w = d if a bit is set and -d if it is not.
//
//   bytes 0-1: d (f16)   bytes 2-17: q[16]      18 B per 128 = 1.125 bits per weight
//
//   bit i % 8 of byte i / 8 of q belongs to weight i.
//
// Source: block_q1_0 of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kQ1_0Info{"Q1_0", 41, 128, 18};
inline constexpr DType q1_0{&kQ1_0Info};

struct Q1_0 {
  static constexpr int kBlock = 128;
  struct Block {
    std::uint16_t d;
    std::uint8_t q[kBlock / 8];
  };
  static_assert(sizeof(Block) == 18 && offsetof(Block, d) == 0 && offsetof(Block, q) == 2);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  static void encode(const float* in, Block& block);
  static void encode_weighted(const float* in, const float* importance, Block& block);
};

extern const Format kQ1_0Format;

}  // namespace weft
