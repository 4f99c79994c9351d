#pragma once
// IQ2_XXS: 256 weights in 8 sub-blocks of 32, w = (d * (0.5 + scale[s]) * 0.25) * (+- coordinate of
// a point of kIQ2_XXSGrid, iq_grids.h). A point codes 8 weights, its number has 8 bits, a scale 4.
//
//   bytes 0-1: d (f16)   bytes 2-65: sub-blocks of 8 bytes
//   66 B per 256 = 2.0625 bits per weight
//
//   sub-block s: bytes 0-3 the points of weights 32*s + 8*i .. + 7, i in 0..3; bytes 4-7 signs
//   (u32, little-endian): bits 31..28 scale[s], bits 7*i + 6 .. 7*i the signs of weights 32*s + 8*i
//   .. + 7 (even_signs in iq_grids.h).
//
// Source: block_iq2_xxs of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kIQ2_XXSInfo{"IQ2_XXS", 16, 256, 66};
inline constexpr DType iq2_xxs{&kIQ2_XXSInfo};

struct IQ2_XXS {
  static constexpr int kBlock = 256;
  static constexpr int kSub = 32;  // weights that share a scale
  static constexpr int kSubs = kBlock / kSub;
  struct Sub {
    std::uint8_t q[kSub / 8];
    std::uint8_t signs[4];
  };
  struct Block {
    std::uint16_t d;
    Sub subs[kSubs];
  };
  static_assert(sizeof(Block) == 66 && sizeof(Sub) == 8 && offsetof(Block, d) == 0 &&
                offsetof(Block, subs) == 2);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  // Minimizes the squared error, weighted by `importance`.
  static void encode_weighted(const float* in, const float* importance, Block& block);
};

extern const Format kIQ2_XXSFormat;

}  // namespace weft
