#pragma once
// TQ2_0: 256 weights, w = d * (q - 1), q of 2 bits; encoders write 0, 1 and 2.
//
//   bytes 0-63: q[64]   bytes 64-65: d (f16)      66 B per 256 = 2.0625 bits per weight
//
//   byte 32*h + l of q holds weight 128*h + 32*n + l in bits 2n+1..2n (h in 0..1, l in 0..31).
//
// Source: block_tq2_0 of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kTQ2_0Info{"TQ2_0", 35, 256, 66};
inline constexpr DType tq2_0{&kTQ2_0Info};

struct TQ2_0 {
  static constexpr int kBlock = 256;
  struct Block {
    std::uint8_t q[kBlock / 4];
    std::uint16_t d;
  };
  static_assert(sizeof(Block) == 66 && offsetof(Block, q) == 0 && offsetof(Block, d) == 64);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  static void encode(const float* in, Block& block);
};

extern const Format kTQ2_0Format;

}  // namespace weft
