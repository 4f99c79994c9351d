#pragma once
// IQ1_S: d (f16), 32 points of 8 bits, for each sub-block their high 3 bits, a number of 3 bits for
// its scale and the sign of its shift (ops/formats/iq1_s.h).

#include "cpu/kernels/codec_iq.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, IQ1_SWeights> : IQCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 50, kGroups = 8;
  using Header = IQHeader<Arch, 8>;
  static WEFT_INLINE Header header(const std::byte* block) {
    std::uint64_t numbers = 0;
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) numbers |= (byte(block, 35 + 2 * s) >> 4 & 7u) << 4 * s;
    return Header::odd(Simd<Arch>::f16(block) * 0.125f, numbers);
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int group) {
    const unsigned high = read<std::uint16_t>(block + 34 + 2 * group);
    const auto point = [&](int i) __attribute__((always_inline)) {
      return eight(&kIQ1Grid, byte(block, 2 + 4 * group + i) | (high >> 3 * i & 7u) << 8);
    };
    return Lookup<Arch>::eightfold(Lookup<Arch>::eights(point(0), point(1), point(2), point(3)),
                                   Lookup<Arch>::all(high >> 15 ? -1 : 1));
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

}  // namespace weft::cpu
