#pragma once
// Q5_1: d, m (f16), 4 bytes of fifth bits, 16 bytes of nibbles: low ones first
// (ops/formats/q5_1.h). m is a minimum with the opposite sign.

#include "cpu/kernels/linear/codec.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, Q5_1Weights> : BlockCodec {
  static constexpr int kBlockElems = 32, kBlockBytes = 24;
  static constexpr bool kHasMins = true;
  struct Header {
    float scales[1];
    float minima[8];  // one, and zeros
    WEFT_INLINE const float* mins() const { return minima; }
  };
  static WEFT_INLINE Header header(const std::byte* block) {
    return {{Simd<Arch>::f16(block)}, {-Simd<Arch>::f16(block + 2)}};
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int) {
    std::uint32_t high;
    std::memcpy(&high, block + 4, sizeof(high));
    return Bytes<Arch>::load_nibbles(block + 8) | Bytes<Arch>::template bits<4>(high);
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

#ifdef WEFT_SIXTEEN
// Units: d and m, fifth bits, four of nibbles.
template <class Arch>
struct PanelCodec<Arch, Q5_1Weights> : PanelCodecBase<Arch> {
  using P = PanelCodecBase<Arch>;
  using typename P::S, typename P::Words, typename P::Floats;
  static constexpr int kSubs = 1, kUnits = 6, kMaxCode = 31;
  static constexpr bool kHasMins = true, kHasHalves = false;
  static WEFT_INLINE void header(const std::byte* block, const std::byte*, Floats* scales,
                                 Floats* mins) {
    *scales = P::low_halves(P::unit(block, 0));
    *mins = S::negate(P::high_halves(P::unit(block, 0)));
  }
  static WEFT_INLINE void codes(const std::byte* block, int, int i, Words (&out)[1]) {
    out[0] = P::with_fifth(P::nibbles(P::unit(block, 2 + i % 4), i / 4), P::unit(block, 1), i);
  }
};
#endif

}  // namespace weft::cpu
