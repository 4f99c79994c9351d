#pragma once
// Q2_0: d (f16), 16 bytes with 2 bits of four neighbours each (ops/formats/q2_0.h).

#include "cpu/kernels/codec_iq.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, Q2_0Weights> : IQCodec {
  static constexpr int kBlockElems = 64, kBlockBytes = 18, kGroups = 2;
  using Header = IQHeader<Arch, 2>;
  static WEFT_INLINE Header header(const std::byte* block) {
    const float d = Simd<Arch>::f16(block);
    return {{d, d}};
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int group) {
    return Lookup<Arch>::pairs(read<std::uint64_t>(block + 2 + 8 * group));
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

}  // namespace weft::cpu
