#pragma once
// IQ3_XXS: d (f16), 64 points of 8 bits, for each sub-block 28 bits of signs and a number of 4 bits
// for its scale (ops/formats/iq3_xxs.h).

#include "cpu/kernels/codec_iq.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, IQ3_XXSWeights> : IQCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 98, kGroups = 8;
  using Header = IQHeader<Arch, 8>;
  static WEFT_INLINE Header header(const std::byte* block) {
    std::uint64_t numbers = 0;
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) numbers |= (byte(block, 69 + 4 * s) >> 4) << 4 * s;
    return Header::odd(Simd<Arch>::f16(block) * 0.25f, numbers);
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int group) {
    std::int32_t points[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) points[i] = four(&kIQ3_XXSGrid, byte(block, 2 + 8 * group + i));
    return Lookup<Arch>::negate(Lookup<Arch>::fours(points),
                                Signs<Arch>::even(read<std::uint32_t>(block + 66 + 4 * group)));
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

}  // namespace weft::cpu
