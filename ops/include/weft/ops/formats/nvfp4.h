#pragma once
// NVFP4: 64 weights in 4 sub-blocks of 16, w = scale[s] * v, v one of the 16 numbers of E2M1 (see
// mxfp4.h), scale of 8 bits: UE4M3. Models have a second scale for the tensor; it is a tensor of
// its own.
//
//   bytes 0-3: scale[4]      bytes 4-35: q[32]      36 B per 64 = 4.5 bits per weight
//
//   scale: bit 7 is 0; bits 6..3 the exponent e, bits 2..0 the mantissa m: 2^(e - 7) * (1 + m / 8),
//   if e is 0, m * 2^-9; 0x7f is 0.
//   byte 8*s + j of q holds weight 16*s + j in its low nibble and weight 16*s + 8 + j in its high
//   one.
//
// Source: block_nvfp4 of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kNVFP4Info{"NVFP4", 40, 64, 36};
inline constexpr DType nvfp4{&kNVFP4Info};

struct NVFP4 {
  static constexpr int kBlock = 64;
  static constexpr int kSub = 16;  // weights that share a scale
  static constexpr int kSubs = kBlock / kSub;
  struct Block {
    std::uint8_t scale[kSubs];
    std::uint8_t q[kBlock / 2];
  };
  static_assert(sizeof(Block) == 36 && offsetof(Block, scale) == 0 && offsetof(Block, q) == 4);

  static float half_scale(std::uint8_t scale);         // half of the decoded scale
  static void decode(const Block& block, float* out);  // out: kBlock floats
  static void encode(const float* in, Block& block);
  static void encode_weighted(const float* in, const float* importance, Block& block);
};

extern const Format kNVFP4Format;

}  // namespace weft
