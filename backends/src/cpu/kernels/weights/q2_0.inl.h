#pragma once
// Q2_0: d (f16), 16 bytes with 2 bits of four neighbours each (ops/formats/q2_0.h).

#include "cpu/kernels/weights/codec_iq.inl.h"

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

#ifdef WEFT_SIXTEEN
// Units: four of codes, each one's pairs of bits in the order of panel_layouts.h: pair n of its
// bytes belongs to weights 4n .. 4n + 3. Halves: d.
template <class Arch>
struct PanelCodec<Arch, Q2_0Weights> : PanelCodecBase<Arch> {
  using P = PanelCodecBase<Arch>;
  using typename P::S, typename P::Words, typename P::Floats;
  static constexpr int kSubs = 2, kUnits = 4, kParts = 2, kOffset = 1, kMaxCode = 3;
  static WEFT_INLINE void header(const std::byte*, const std::byte* halves, Floats* scales,
                                 Floats*) {
    scales[0] = scales[1] = S::load_f16(halves);
  }
  static WEFT_INLINE void codes(const std::byte* block, int, int i, Words (&out)[2]) {
#pragma GCC unroll 2
    for (int p = 0; p < 2; ++p) out[p] = P::pairs(P::unit(block, 2 * p + i / 4), i % 4);
  }
};
#endif

}  // namespace weft::cpu
