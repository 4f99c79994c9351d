#pragma once
// Q1_0: d (f16), 16 bytes of signs (ops/formats/q1_0.h).

#include "cpu/kernels/weights/codec_iq.inl.h"

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

#ifdef WEFT_SIXTEEN
// Units: one of bits for every 32 weights, P::bit_of(i) of its bytes belongs to weights 4i .. 4i
// + 3. Halves: d. Codes are twice the bits.
template <class Arch>
struct PanelCodec<Arch, Q1_0Weights> : PanelCodecBase<Arch> {
  using P = PanelCodecBase<Arch>;
  using typename P::S, typename P::Words, typename P::Floats;
  static constexpr int kSubs = 4, kUnits = 4, kParts = 4, kOffset = 1, kMaxCode = 2;
  static WEFT_INLINE void header(const std::byte*, const std::byte* halves, Floats* scales,
                                 Floats*) {
    const Floats d = S::load_f16(halves);
#pragma GCC unroll 4
    for (int s = 0; s < 4; ++s) scales[s] = d;
  }
  static WEFT_INLINE void codes(const std::byte* block, int, int i, Words (&out)[4]) {
    const int bit = P::bit_of(i);
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) {
      out[p] = P::moved(P::unit(block, p), 1 - bit) & S::all8(2);
    }
  }
};
#endif

}  // namespace weft::cpu
