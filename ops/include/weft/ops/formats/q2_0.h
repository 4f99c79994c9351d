#pragma once
// Q2_0: 64 weights, w = d * (q - 1), q of 2 bits.
//
//   bytes 0-1: d (f16)   bytes 2-17: q[16]      18 B per 64 = 2.25 bits per weight
//
//   byte i / 4 of q holds weight i in bits 2(i % 4) + 1 .. 2(i % 4).
//
// Source: block_q2_0 of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kQ2_0Info{"Q2_0", 42, 64, 18};
inline constexpr DType q2_0{&kQ2_0Info};

struct Q2_0 {
  static constexpr int kBlock = 64;
  struct Block {
    std::uint16_t d;
    std::uint8_t q[kBlock / 4];
  };
  static_assert(sizeof(Block) == 18 && offsetof(Block, d) == 0 && offsetof(Block, q) == 2);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  static void encode(const float* in, Block& block);
};

extern const Format kQ2_0Format;

}  // namespace weft
