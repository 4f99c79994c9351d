#pragma once
// Q8_0: 32 weights, w = d * q.
//
//   bytes 0-1: d (f16)      bytes 2-33: q[32] (i8)      34 B per 32 = 8.5 bits per weight
//
// Source: block_q8_0 of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kQ8_0Info{"Q8_0", 8, 32, 34};
inline constexpr DType q8_0{&kQ8_0Info};

struct Q8_0 {
  static constexpr int kBlock = 32;
  struct Block {
    std::uint16_t d;
    std::int8_t q[kBlock];
  };
  static_assert(sizeof(Block) == 34 && offsetof(Block, d) == 0 && offsetof(Block, q) == 2);

  static void decode(const Block& block, float* out);  // out: kBlock floats
};

extern const Format kQ8_0Format;

}  // namespace weft
