#pragma once
// Q3_K: 256 weights in 16 sub-blocks of 16, w = (d * (scale[s] - 32)) * (q - 4), q of 3 bits, scale
// of 6 bits.
//
//   bytes 0-31: high[32]   bytes 32-95: q[64]   bytes 96-107: scales[12]   bytes 108-109: d (f16)
//   110 B per 256 = 3.4375 bits per weight
//
//   byte 32*h + l of q holds the low 2 bits of weight 128*h + 32*n + l in bits 2n+1..2n, bit 4*h +
//   n of high[l] is its third bit (h in 0..1, n in 0..3, l in 0..31). scales, for i in 0..7 and j
//   in 0..3:
//     byte i, low nibble: low 4 bits of scale[i]; high nibble: those of scale[8 + i]
//     byte 8 + j, bits 2n+1..2n: upper 2 bits of scale[4*n + j]
//
// Source: block_q3_K of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kQ3_KInfo{"Q3_K", 11, 256, 110};
inline constexpr DType q3_k{&kQ3_KInfo};

struct Q3_K {
  static constexpr int kBlock = 256;
  static constexpr int kSub = 16;  // weights that share a scale
  static constexpr int kSubs = kBlock / kSub;
  struct Block {
    std::uint8_t high[kBlock / 8];
    std::uint8_t q[kBlock / 4];
    std::uint8_t scales[12];
    std::uint16_t d;
  };
  static_assert(sizeof(Block) == 110 && offsetof(Block, high) == 0 && offsetof(Block, q) == 32 &&
                offsetof(Block, scales) == 96 && offsetof(Block, d) == 108);

  // Unpack and pack the scales, which are in -32..31.
  static void unpack_scales(const std::uint8_t (&packed)[12], std::int8_t (&scales)[kSubs]);
  static void pack_scales(const std::int8_t (&scales)[kSubs], std::uint8_t (&packed)[12]);

  static void decode(const Block& block, float* out);  // out: kBlock floats
};

extern const Format kQ3_KFormat;

}  // namespace weft
