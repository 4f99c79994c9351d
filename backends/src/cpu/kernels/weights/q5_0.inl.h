#pragma once
// Q5_0: d (f16), 4 bytes of fifth bits, 16 bytes of nibbles: low ones first (ops/formats/q5_0.h).

#include "cpu/kernels/linear/codec.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, Q5_0Weights> : BlockCodec {
  static constexpr int kBlockElems = 32, kBlockBytes = 22, kOffset = 16;
  struct Header {
    float scales[1];
  };
  static WEFT_INLINE Header header(const std::byte* block) { return {{Simd<Arch>::f16(block)}}; }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int) {
    std::uint32_t high;
    std::memcpy(&high, block + 2, sizeof(high));
    return Bytes<Arch>::load_nibbles(block + 6) | Bytes<Arch>::template bits<4>(high);
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

#ifdef WEFT_SIXTEEN
// Units: fifth bits, four of nibbles. Halves: d.
template <class Arch>
struct PanelCodec<Arch, Q5_0Weights> : PanelCodecBase<Arch> {
  using P = PanelCodecBase<Arch>;
  using typename P::S, typename P::Words, typename P::Floats;
  static constexpr int kSubs = 1, kUnits = 5, kOffset = 16, kMaxCode = 31;
  static WEFT_INLINE void codes(const std::byte* block, int, int i, Words (&out)[1]) {
    out[0] = P::with_fifth(P::nibbles(P::unit(block, 1 + i % 4), i / 4), P::unit(block, 0), i);
  }
};
#endif

}  // namespace weft::cpu
