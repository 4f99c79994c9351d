#pragma once
// Q8_K: 256 weights, w = d * q; dot products use the sums of 16 codes.
//
//   bytes 0-3: d (f32)   bytes 4-259: q[256] (i8)   bytes 260-291: sum[16] (i16)
//   292 B per 256 = 9.125 bits per weight
//
// Source: block_q8_K of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kQ8_KInfo{"Q8_K", 15, 256, 292};
inline constexpr DType q8_k{&kQ8_KInfo};

struct Q8_K {
  static constexpr int kBlock = 256;
  static constexpr int kSub = 16;
  struct Block {
    float d;
    std::int8_t q[kBlock];
    std::int16_t sum[kBlock / kSub];
  };
  static_assert(sizeof(Block) == 292 && offsetof(Block, d) == 0 && offsetof(Block, q) == 4 &&
                offsetof(Block, sum) == 260);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  static void encode(const float* in, Block& block);
};

extern const Format kQ8_KFormat;

}  // namespace weft
