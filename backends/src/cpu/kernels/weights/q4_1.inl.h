#pragma once
// Q4_1: d, m (f16), 16 bytes of nibbles: low ones first (ops/formats/q4_1.h). m is a minimum with
// the opposite sign.

#include "cpu/kernels/linear/codec.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, Q4_1Weights> : BlockCodec {
  static constexpr int kBlockElems = 32, kBlockBytes = 20;
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
    return Bytes<Arch>::load_nibbles(block + 4);
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

#ifdef WEFT_SIXTEEN
// Units: d and m, four of nibbles.
template <class Arch>
struct PanelCodec<Arch, Q4_1Weights> : PanelCodecBase<Arch> {
  using P = PanelCodecBase<Arch>;
  using typename P::S, typename P::Words, typename P::Floats;
  static constexpr int kSubs = 1, kUnits = 5, kMaxCode = 15;
  static constexpr bool kHasMins = true, kHasHalves = false;
  static WEFT_INLINE void header(const std::byte* block, const std::byte*, Floats* scales,
                                 Floats* mins) {
    *scales = P::low_halves(P::unit(block, 0));
    *mins = S::negate(P::high_halves(P::unit(block, 0)));
  }
  static WEFT_INLINE void codes(const std::byte* block, int, int i, Words (&out)[1]) {
    out[0] = P::nibbles(P::unit(block, 1 + i % 4), i / 4);
  }
};
#endif

}  // namespace weft::cpu
