#pragma once
// Q4_0: d (f16), 16 bytes of nibbles: low ones first (ops/formats/q4_0.h).

#include "cpu/kernels/linear/codec.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, Q4_0Weights> : BlockCodec {
  static constexpr int kBlockElems = 32, kBlockBytes = 18, kOffset = 8;
  struct Header {
    float scales[1];
  };
  static WEFT_INLINE Header header(const std::byte* block) { return {{Simd<Arch>::f16(block)}}; }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int) {
    return Bytes<Arch>::load_nibbles(block + 2);
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

#ifdef WEFT_SIXTEEN
// Units: the 16 bytes of nibbles. Halves: d.
template <class Arch>
struct PanelCodec<Arch, Q4_0Weights> : PanelCodecBase<Arch> {
  using P = PanelCodecBase<Arch>;
  using typename P::S, typename P::Words, typename P::Floats;
  static constexpr int kSubs = 1, kUnits = 4, kOffset = 8, kMaxCode = 15;
  static WEFT_INLINE void codes(const std::byte* block, int, int i, Words (&out)[1]) {
    out[0] = P::nibbles(P::unit(block, i % 4), i / 4);
  }
};
#endif

}  // namespace weft::cpu
