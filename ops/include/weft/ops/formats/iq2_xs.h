#pragma once
// IQ2_XS: 256 weights in 16 sub-blocks of 16, w = (d * (0.5 + scale[s]) * 0.25) * (+- coordinate of
// a point of kIQ2_XSGrid, iq_grids.h). A point codes 8 weights, its number has 9 bits, a scale 4.
//
//   bytes 0-1: d (f16)   bytes 2-65: q[32] (u16)   bytes 66-73: scales[8]
//   74 B per 256 = 2.3125 bits per weight
//
//   q[i], for weights 8*i .. 8*i + 7: bits 8..0 the point, bits 15..9 the signs (even_signs in
//   iq_grids.h).
//   scale[s]: low nibble of scales[s / 2] for even s, high nibble for odd s.
//
// Source: block_iq2_xs of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kIQ2_XSInfo{"IQ2_XS", 17, 256, 74};
inline constexpr DType iq2_xs{&kIQ2_XSInfo};

struct IQ2_XS {
  static constexpr int kBlock = 256;
  static constexpr int kSub = 16;  // weights that share a scale
  static constexpr int kSubs = kBlock / kSub;
  struct Block {
    std::uint16_t d;
    std::uint16_t q[kBlock / 8];
    std::uint8_t scales[kSubs / 2];
  };
  static_assert(sizeof(Block) == 74 && offsetof(Block, d) == 0 && offsetof(Block, q) == 2 &&
                offsetof(Block, scales) == 66);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  // Minimizes the squared error, weighted by `importance`.
  static void encode_weighted(const float* in, const float* importance, Block& block);
};

extern const Format kIQ2_XSFormat;

}  // namespace weft
