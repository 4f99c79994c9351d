#pragma once
// Q8H: d (f16), 32 signed bytes of half steps (weft/ops/formats/q8h.h).

#include "cpu/kernels/codec.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, Q8HWeights> : BlockCodec {
  static constexpr int kBlockElems = 32, kBlockBytes = 34;
  static constexpr bool kSigned = true;
  struct Header {
    float scales[1];
  };
  static WEFT_INLINE Header header(const std::byte* block) {
    return {{Simd<Arch>::f16(block) / 2}};
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int) {
    return Bytes<Arch>::load(block + 2);
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

}  // namespace weft::cpu
