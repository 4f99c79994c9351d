#pragma once
// Q8H: Q8_0 in half steps. 32 weights, w = d / 2 * q.
//
//   bytes 0-1: d (f16)      bytes 2-33: q[32] (i8)      34 B per 32 = 8.5 bits per weight

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kQ8HInfo{"Q8H", 199, 32, 34};
inline constexpr DType q8h{&kQ8HInfo};

struct Q8H {
  static constexpr int kBlock = 32;
  struct Block {
    std::uint16_t d;
    std::int8_t q[kBlock];
  };
  static_assert(sizeof(Block) == 34 && offsetof(Block, d) == 0 && offsetof(Block, q) == 2);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  static void encode(const float* in, Block& block);
};

extern const Format kQ8HFormat;

}  // namespace weft
