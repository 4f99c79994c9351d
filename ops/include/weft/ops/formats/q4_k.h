#pragma once
// Q4_K: 256 weights in 8 sub-blocks of 32, w = (d * scale[s]) * q - (dmin * min[s]), q of 4 bits,
// scale and min of 6 bits.
//
//   bytes 0-1: d (f16)   bytes 2-3: dmin (f16)   bytes 4-15: scales[12]   bytes 16-143: q[128]
//   144 B per 256 = 4.5 bits per weight
//
//   scales, bits 7..0, for i in 0..3 (s5..s0: a scale, m5..m0: a minimum):
//     byte i        s5 s4 of scale[i+4]  | s5..s0 of scale[i]
//     byte i + 4    m5 m4 of min[i+4]    | m5..m0 of min[i]
//     byte i + 8    m3..m0 of min[i+4]   | s3..s0 of scale[i+4]
//
//   q: byte 32*g + l holds weight 64*g + l in its low nibble and weight 64*g + 32 + l in its high
//   nibble (g in 0..3, l in 0..31).
//
// Source: block_q4_K of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kQ4_KInfo{"Q4_K", 12, 256, 144};
inline constexpr DType q4_k{&kQ4_KInfo};

struct Q4_K {
  static constexpr int kBlock = 256;
  static constexpr int kSub = 32;  // weights that share a scale and a minimum
  static constexpr int kSubs = kBlock / kSub;
  struct Block {
    std::uint16_t d;
    std::uint16_t dmin;
    std::uint8_t scales[12];
    std::uint8_t q[kBlock / 2];
  };
  static_assert(sizeof(Block) == 144 && offsetof(Block, d) == 0 && offsetof(Block, dmin) == 2 &&
                offsetof(Block, scales) == 4 && offsetof(Block, q) == 16);

  // Unpack and pack the 6-bit scales and minima.
  struct Scales {
    std::uint8_t scale[kSubs];
    std::uint8_t min[kSubs];
  };
  static Scales unpack_scales(const std::uint8_t (&packed)[12]);
  static void pack_scales(const Scales& scales, std::uint8_t (&packed)[12]);

  static void decode(const Block& block, float* out);  // out: kBlock floats
};

extern const Format kQ4_KFormat;

}  // namespace weft
