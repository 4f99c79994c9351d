#pragma once
// Q2_K: 16 bytes with a scale and a minimum of 4 bits each, 64 bytes with 2 bits of four weights
// each, d, dmin (f16) (ops/formats/q2_k.h).

#include "cpu/kernels/linear/codec.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, Q2_KWeights> : BlockCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 84, kParts = 8;
  static constexpr bool kTwoScales = true, kHasMins = true;
  struct Header {
    float scales[32];  // 16 scales, 16 minima
    WEFT_INLINE const float* mins() const { return scales + 16; }
  };
  static WEFT_INLINE Header header(const std::byte* block) {
    using V = typename Simd<Arch>::V;
    constexpr int kLanes = Simd<Arch>::kLanes;
    V values[32 / kLanes];
    Bytes<Arch>::load_nibbles(block).to_floats(values);
    const V d(Simd<Arch>::f16(block + 80)), dmin(Simd<Arch>::f16(block + 82));
    Header h;
#pragma GCC unroll 8
    for (int i = 0; i < 32 / kLanes; ++i)
      (values[i] * (i * kLanes < 16 ? d : dmin)).store_unaligned(h.scales + i * kLanes);
    return h;
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int) {
    const auto bytes = Bytes<Arch>::load(block + 16 + 32 * (kPart / 4));
    return bytes.template field<2 * (kPart % 4), 2>();
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

#ifdef WEFT_SIXTEEN
// Units: d and dmin, four of scales and minima, two times eight of codes.
template <class Arch>
struct PanelCodec<Arch, Q2_KWeights> : PanelCodecBase<Arch> {
  using P = PanelCodecBase<Arch>;
  using typename P::S, typename P::Words, typename P::Floats;
  static constexpr int kSubs = 8, kUnits = 21, kGroups = 2, kParts = 4, kScales = 2, kMaxCode = 3;
  static constexpr bool kHasMins = true, kHasHalves = false;

  static WEFT_INLINE void header(const std::byte* block, const std::byte*, Floats* scales,
                                 Floats* mins) {
    const Floats d = P::low_halves(P::unit(block, 0)), dmin = P::high_halves(P::unit(block, 0));
    const Words low = S::all32(15);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const Words four = P::unit(block, 1 + i);
#pragma GCC unroll 4
      for (int b = 0; b < 4; ++b) {
        const Words scale = S::right32(four, 8 * b) & low;
        const Words min = S::right32(four, 8 * b + 4) & low;
        scales[4 * i + b] = S::to_floats(scale) * d;
        mins[4 * i + b] = S::to_floats(min) * dmin;
      }
    }
  }
  static WEFT_INLINE void codes(const std::byte* block, int half, int i, Words (&out)[4]) {
    const Words bytes = P::unit(block, 5 + 8 * half + i);
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) out[p] = P::pairs(bytes, p);
  }
};
#endif

}  // namespace weft::cpu
