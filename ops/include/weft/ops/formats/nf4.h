#pragma once
// NF4: 64 weights, w = d * v[q], v a table of 16 numbers in [-1, 1]: the quantiles of a normal
// distribution. In memory only.
//
//   bytes 0-1: d (f16)   bytes 2-33: q[32]      34 B per 64 = 4.25 bits per weight
//
//   byte j of q holds weight j in its low nibble and weight j + 32 in its high nibble.
//
// Source of the table: appendix E of https://arxiv.org/abs/2305.14314; block and order are our own.

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kNF4Info{"NF4", -1, 64, 34};
inline constexpr DType nf4{&kNF4Info};

struct NF4 {
  static constexpr int kBlock = 64;
  struct Block {
    std::uint16_t d;
    std::uint8_t q[kBlock / 2];
  };
  static_assert(sizeof(Block) == 34 && offsetof(Block, d) == 0 && offsetof(Block, q) == 2);
  static constexpr float kValues[16] = {
      -1.0f,           -0.69619280100f, -0.52507305145f, -0.39491748810f,
      -0.28444138169f, -0.18477343023f, -0.09105003625f, 0.0f,
      0.07958029956f,  0.16093020141f,  0.24611230195f,  0.33791524172f,
      0.44070982933f,  0.56261700392f,  0.72295683622f,  1.0f};

  static void decode(const Block& block, float* out);  // out: kBlock floats
  static void encode(const float* in, Block& block);
  static void encode_weighted(const float* in, const float* importance, Block& block);
};

extern const Format kNF4Format;

}  // namespace weft
