#pragma once
// TQ1_0: 52 bytes of five numbers in base 3 each, d (f16) (ops/formats/tq1_0.h). A byte is a
// fraction: what is left of it times 3^n begins with number n.

#include "cpu/kernels/codec_iq.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, TQ1_0Weights> : IQCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 54, kGroups = 8;
  using Header = IQHeader<Arch, 8>;
  static WEFT_INLINE Header header(const std::byte* block) {
    const float d = Simd<Arch>::f16(block + 52);
    return {{d, d, d, d, d, d, d, d}};
  }
  // Every byte times `power`, of which its low 8 bits stay.
  static WEFT_INLINE std::uint64_t times(std::uint64_t bytes, std::uint64_t power) {
    constexpr std::uint64_t kEven = 0x00ff00ff00ff00ff;
    return ((bytes & kEven) * power & kEven) | ((bytes >> 8 & kEven) * power & kEven) << 8;
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int group) {
    if (group < 5) {
      auto left = Bytes<Arch>::load(block);
      for (int n = 0; n < group; ++n) left = Lookup<Arch>::thrice(left);
      return Lookup<Arch>::trits(left);
    }
    const auto a = read<std::uint64_t>(block + 32), b = read<std::uint64_t>(block + 40);
    if (group < 7) {
      const std::uint64_t power = group == 5 ? 1 : 9;
      return Lookup<Arch>::trits(Lookup<Arch>::eights(times(a, power), times(b, power),
                                                      times(a, 3 * power), times(b, 3 * power)));
    }
    const auto last = std::uint64_t{read<std::uint32_t>(block + 48)};
    return Lookup<Arch>::trits(Lookup<Arch>::eights(times(a, 81), times(b, 81),
                                                    last | times(last, 3) << 32,
                                                    times(last, 9) | times(last, 27) << 32));
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

}  // namespace weft::cpu
