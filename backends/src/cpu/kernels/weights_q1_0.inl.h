#pragma once
// Q1_0: d (f16), 16 bytes of signs (ops/formats/q1_0.h).

#include "cpu/kernels/codec_iq.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, Q1_0Weights> : IQCodec {
  static constexpr int kBlockElems = 128, kBlockBytes = 18, kGroups = 4;
  using Header = IQHeader<Arch, 4>;
  static WEFT_INLINE Header header(const std::byte* block) {
    const float d = Simd<Arch>::f16(block);
    return {{d, d, d, d}};
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int group) {
    const auto bits = read<std::uint32_t>(block + 2 + 4 * group);
    return Bytes<Arch>::template bits<1>(bits).minus(1);
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

}  // namespace weft::cpu
