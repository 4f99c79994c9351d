#pragma once
// IQ4_NL: 32 weights, w = d * kIQ4Values[q], q of 4 bits (iq_grids.h).
//
//   bytes 0-1: d (f16)      bytes 2-17: q[16]      18 B per 32 = 4.5 bits per weight
//
//   byte j of q holds weight j in its low nibble and weight j + 16 in its high nibble. d may be
//   negative: the values reach further on one side.
//
// Source: block_iq4_nl of https://github.com/ggml-org/ggml/blob/master/src/ggml-common.h

#include <cstddef>
#include <cstdint>

#include "weft/ops/formats/format.h"

namespace weft {

inline constexpr DTypeInfo kIQ4_NLInfo{"IQ4_NL", 20, 32, 18};
inline constexpr DType iq4_nl{&kIQ4_NLInfo};

struct IQ4_NL {
  static constexpr int kBlock = 32;
  struct Block {
    std::uint16_t d;
    std::uint8_t q[kBlock / 2];
  };
  static_assert(sizeof(Block) == 18 && offsetof(Block, d) == 0 && offsetof(Block, q) == 2);

  static void decode(const Block& block, float* out);  // out: kBlock floats
  // Both minimize the squared error; the second one weights it by `importance`.
  static void encode(const float* in, Block& block);
  static void encode_weighted(const float* in, const float* importance, Block& block);
};

extern const Format kIQ4_NLFormat;

}  // namespace weft
