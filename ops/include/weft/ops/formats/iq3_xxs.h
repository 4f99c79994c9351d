#pragma once
// IQ3_XXS: 256 weights in 8 sub-blocks of 32, w = (d * (0.5 + scale[s]) * 0.5) * (+- coordinate of
// a point of kIQ3_XXSGrid, iq_grids.h). A point codes 4 weights, its number has 8 bits, a scale 4.
//
//   bytes 0-1: d (f16)   bytes 2-65: q[64]   bytes 66-97: signs[8] (u32, little-endian)
//   98 B per 256 = 3.0625 bits per weight
//
//   q[i] is the point of weights 4*i .. 4*i + 3.
//   signs[s]: bits 31..28 scale[s]; bits 7*i + 6 .. 7*i the signs of weights 32*s + 8*i .. + 7
//   (even_signs in iq_grids.h).
//
// Source: block_iq3_xxs of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kIQ3_XXSInfo{"IQ3_XXS", 18, 256, 98};
inline constexpr DType iq3_xxs{&kIQ3_XXSInfo};

struct IQ3_XXS {
  static constexpr int kBlock = 256;
  static constexpr int kSub = 32;  // weights that share a scale
  static constexpr int kSubs = kBlock / kSub;
  struct Block {
    std::uint16_t d;
    std::uint8_t q[kBlock / 4];
    std::uint8_t signs[kSubs][4];
  };
  static_assert(sizeof(Block) == 98 && offsetof(Block, d) == 0 && offsetof(Block, q) == 2 &&
                offsetof(Block, signs) == 66);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  // Both minimize the squared error; the second one weights it by `importance`.
  static void encode(const float* in, Block& block);
  static void encode_weighted(const float* in, const float* importance, Block& block);
};

extern const Format kIQ3_XXSFormat;

}  // namespace weft
