#pragma once
// Q6_K: 256 weights in 16 sub-blocks of 16, w = (d * scale[s]) * (q - 32), q of 6 bits, scale a
// signed byte.
//
//   bytes 0-127: ql[128]   bytes 128-191: qh[64]   bytes 192-207: scale[16] (i8)
//   bytes 208-209: d (f16)
//   210 B per 256 = 6.5625 bits per weight
//
//   The block is two halves of 128 weights. Of half h, with l in 0..31:
//     weight                low 4 bits                     high 2 bits
//     128*h + l             ql[64*h + l], low nibble       qh[32*h + l], bits 1..0
//     128*h + l + 32        ql[64*h + 32 + l], low         qh[32*h + l], bits 3..2
//     128*h + l + 64        ql[64*h + l], high nibble      qh[32*h + l], bits 5..4
//     128*h + l + 96        ql[64*h + 32 + l], high        qh[32*h + l], bits 7..6
//
// Source: block_q6_K of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kQ6_KInfo{"Q6_K", 14, 256, 210};
inline constexpr DType q6_k{&kQ6_KInfo};

struct Q6_K {
  static constexpr int kBlock = 256;
  static constexpr int kSub = 16;  // weights that share a scale
  static constexpr int kSubs = kBlock / kSub;
  struct Block {
    std::uint8_t ql[kBlock / 2];
    std::uint8_t qh[kBlock / 4];
    std::int8_t scale[kSubs];
    std::uint16_t d;
  };
  static_assert(sizeof(Block) == 210 && offsetof(Block, ql) == 0 && offsetof(Block, qh) == 128 &&
                offsetof(Block, scale) == 192 && offsetof(Block, d) == 208);

  static void decode(const Block& block, float* out);  // out: kBlock floats
};

extern const Format kQ6_KFormat;

}  // namespace weft
