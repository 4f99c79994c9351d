#pragma once
// IQ1_M: 32 points of 8 bits, their high 3 bits with the signs of their shifts, 16 numbers of 3
// bits for scales, and the 16 bits of d in four places (ops/formats/iq1_m.h).

#include "cpu/kernels/codec_iq.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, IQ1_MWeights> : IQCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 56, kGroups = 8;
  static constexpr bool kTwoScales = true;
  using Header = IQHeader<Arch, 16>;
  static WEFT_INLINE Header header(const std::byte* block) {
    const auto all = read<std::uint64_t>(block + 48);
    const auto half = static_cast<std::uint16_t>((all >> 12 & 0xf) | (all >> 24 & 0xf0) |
                                                 (all >> 36 & 0xf00) | (all >> 48 & 0xf000));
    std::uint64_t numbers = 0;
#pragma GCC unroll 16
    for (int s = 0; s < 16; ++s) numbers |= (all >> (s / 4 * 16 + s % 4 * 3) & 7) << 4 * s;
    return Header::odd(Simd<Arch>::f16(reinterpret_cast<const std::byte*>(&half)) * 0.125f,
                       numbers);
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int group) {
    const unsigned high = read<std::uint16_t>(block + 32 + 2 * group);
    const auto point = [&](int i) __attribute__((always_inline)) {
      return eight(&kIQ1Grid, byte(block, 4 * group + i) | (high >> 4 * i & 7u) << 8);
    };
    const std::uint32_t down = (high >> 3 & 1u) * 0xffu | (high >> 7 & 1u) * 0xff00u |
                               (high >> 11 & 1u) * 0xff0000u | (high >> 15 & 1u) * 0xff000000u;
    return Lookup<Arch>::eightfold(Lookup<Arch>::eights(point(0), point(1), point(2), point(3)),
                                   Lookup<Arch>::negate(Lookup<Arch>::all(1), down));
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

}  // namespace weft::cpu
