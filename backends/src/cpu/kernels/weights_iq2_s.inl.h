#pragma once
// IQ2_S: d (f16), 32 points of 8 bits, 256 signs, the points' high 2 bits, 16 numbers of 4 bits for
// scales (ops/formats/iq2_s.h).

#include "cpu/kernels/codec_iq.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, IQ2_SWeights> : IQCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 82, kGroups = 8;
  static constexpr bool kTwoScales = true;
  using Header = IQHeader<Arch, 16>;
  static WEFT_INLINE Header header(const std::byte* block) {
    const auto numbers = read<std::uint64_t>(block + 74);
    return Header::odd(Simd<Arch>::f16(block) * 0.125f, numbers);
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int group) {
    const unsigned high = byte(block, 66 + group);
    const auto point = [&](int i) __attribute__((always_inline)) {
      return eight(&kIQ2_SGrid, byte(block, 2 + 4 * group + i) | (high << (8 - 2 * i) & 0x300u));
    };
    return Lookup<Arch>::negate(Lookup<Arch>::eights(point(0), point(1), point(2), point(3)),
                                read<std::uint32_t>(block + 34 + 4 * group));
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

}  // namespace weft::cpu
