#pragma once
// MXFP4: 32 weights, w = 2^(e - 127) * v, v one of the 16 numbers of E2M1: 0, 0.5, 1, 1.5, 2, 3, 4,
// 6 and their negatives.
//
//   byte 0: e      bytes 1-16: q[16]      17 B per 32 = 4.25 bits per weight
//
//   byte j of q holds weight j in its low nibble and weight j + 16 in its high nibble; bit 3 of a
//   nibble is the sign.
//
// Source: https://www.opencompute.org/documents/ocp-microscaling-formats-mx-v1-0-spec-final-pdf and
// block_mxfp4 of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h (e = 255, NaN in
// the specification, is 2^128 there and here)

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kMXFP4Info{"MXFP4", 39, 32, 17};
inline constexpr DType mxfp4{&kMXFP4Info};

struct MXFP4 {
  static constexpr int kBlock = 32;
  struct Block {
    std::uint8_t e;
    std::uint8_t q[kBlock / 2];
  };
  static_assert(sizeof(Block) == 17 && offsetof(Block, e) == 0 && offsetof(Block, q) == 1);

  static float half_scale(std::uint8_t e);             // 2^(e - 128)
  static void decode(const Block& block, float* out);  // out: kBlock floats
  static void encode(const float* in, Block& block);
  static void encode_weighted(const float* in, const float* importance, Block& block);
};

extern const Format kMXFP4Format;

}  // namespace weft
