#pragma once
// IQ4_NL: d (f16), 16 bytes of nibbles: low ones first (ops/formats/iq4_nl.h).

#include "cpu/kernels/weights/codec_iq.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, IQ4_NLWeights> : IQCodec {
  static constexpr int kBlockElems = 32, kBlockBytes = 18;
  using Header = IQHeader<Arch, 1>;
  static WEFT_INLINE Header header(const std::byte* block) { return {{Simd<Arch>::f16(block)}}; }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int) {
    return Lookup<Arch>::template sixteens<kIQ4Values>(Bytes<Arch>::load_nibbles(block + 2));
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

#ifdef WEFT_SIXTEEN
// Units: the 16 bytes of nibbles. Halves: d.
template <class Arch>
struct PanelCodec<Arch, IQ4_NLWeights> : IQ4Panel<Arch> {
  using P = PanelCodecBase<Arch>;
  using typename P::S, typename P::Words, typename P::Floats;
  static constexpr int kSubs = 1, kUnits = 4;
  static WEFT_INLINE void header(const std::byte*, const std::byte* halves, Floats* scales,
                                 Floats*) {
    *scales = S::load_f16(halves);
  }
  static WEFT_INLINE void codes(const std::byte* block, int, int i, Words (&out)[1]) {
    out[0] = IQ4Panel<Arch>::raised(P::nibbles(P::unit(block, i % 4), i / 4));
  }
};
#endif

}  // namespace weft::cpu
