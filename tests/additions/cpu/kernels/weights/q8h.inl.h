#pragma once
// Q8H: d (f16), 32 signed bytes of half steps (weft/ops/formats/q8h.h).

#include "cpu/kernels/linear/codec.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, Q8HWeights> : BlockCodec {
  static constexpr int kBlockElems = 32, kBlockBytes = 34;
  static constexpr bool kSigned = true;
  struct Header {
    float scales[1];
  };
  static WEFT_INLINE Header header(const std::byte* block) {
    return {{Simd<Arch>::f16(block) / 2}};
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int) {
    return Bytes<Arch>::load(block + 2);
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

#ifdef WEFT_SIXTEEN
// Units: the 32 bytes. Halves: d.
template <class Arch>
struct PanelCodec<Arch, Q8HWeights> : PanelCodecBase<Arch> {
  using P = PanelCodecBase<Arch>;
  using typename P::S, typename P::Words, typename P::Floats;
  static constexpr int kSubs = 1, kUnits = 8, kOffset = 128, kMaxCode = 128;
  static WEFT_INLINE void header(const std::byte*, const std::byte* halves, Floats* scales,
                                 Floats*) {
    *scales = S::load_f16(halves) * S::all(0.5f);
  }
  static WEFT_INLINE void codes(const std::byte* block, int, int i, Words (&out)[1]) {
    out[0] = P::unit(block, i) ^ S::all8(S::kRaise);
  }
};
#endif

}  // namespace weft::cpu
