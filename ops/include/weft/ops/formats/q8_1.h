#pragma once
// Q8_1: 32 weights, w = d * q; s is used by dot products with weights that have a minimum.
//
//   bytes 0-1: d (f16)   bytes 2-3: s = d * sum(q) (f16)   bytes 4-35: q[32] (i8)
//   36 B per 32 = 9 bits per weight
//
// Source: block_q8_1 of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kQ8_1Info{"Q8_1", 9, 32, 36};
inline constexpr DType q8_1{&kQ8_1Info};

struct Q8_1 {
  static constexpr int kBlock = 32;
  struct Block {
    std::uint16_t d;
    std::uint16_t s;
    std::int8_t q[kBlock];
  };
  static_assert(sizeof(Block) == 36 && offsetof(Block, d) == 0 && offsetof(Block, s) == 2 &&
                offsetof(Block, q) == 4);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  static void encode(const float* in, Block& block);
};

extern const Format kQ8_1Format;

}  // namespace weft
