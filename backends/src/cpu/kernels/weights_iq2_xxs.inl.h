#pragma once
// IQ2_XXS: d (f16), for each sub-block 4 points of 8 bits, 28 bits of signs and a number of 4 bits
// for its scale (ops/formats/iq2_xxs.h).

#include "cpu/kernels/codec_iq.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, IQ2_XXSWeights> : IQCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 66, kGroups = 8;
  using Header = IQHeader<Arch, 8>;
  static WEFT_INLINE Header header(const std::byte* block) {
    std::uint64_t numbers = 0;
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) numbers |= (byte(block, 9 + 8 * s) >> 4) << 4 * s;
    return Header::odd(Simd<Arch>::f16(block) * 0.125f, numbers);
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int group) {
    const std::byte* sub = block + 2 + 8 * group;
    return Lookup<Arch>::negate(
        Lookup<Arch>::eights(eight(&kIQ2_XXSGrid, byte(sub, 0)), eight(&kIQ2_XXSGrid, byte(sub, 1)),
                             eight(&kIQ2_XXSGrid, byte(sub, 2)),
                             eight(&kIQ2_XXSGrid, byte(sub, 3))),
        Signs<Arch>::even(read<std::uint32_t>(sub + 4)));
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

}  // namespace weft::cpu
