#pragma once
// Q6_K: ql[128], qh[64], 16 scales (i8), d (f16). A half of 128 weights has 64 bytes of ql and 32
// of qh; its quarter p takes the low or high nibbles of 32 bytes of ql and bits 2p, 2p + 1 of qh
// (ops/formats/q6_k.h).

#include "cpu/kernels/linear/codec.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, Q6_KWeights> : BlockCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 210, kGroups = 2, kParts = 4, kOffset = 32;
  static constexpr bool kTwoScales = true;
  struct Header {
    float scales[16];
  };

  static WEFT_INLINE Header header(const std::byte* block) {
    using V = typename Simd<Arch>::V;
    constexpr int kLanes = Simd<Arch>::kLanes;
    V values[16 / kLanes];
    Bytes<Arch>::sixteen_to_floats(block + 192, values);
    const V d(Simd<Arch>::f16(block + 208));
    Header h;
#pragma GCC unroll 4
    for (int i = 0; i < 16 / kLanes; ++i) (values[i] * d).store_unaligned(h.scales + i * kLanes);
    return h;
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int half) {
    const auto low = Bytes<Arch>::load(block + 64 * half + 32 * (kPart % 2))
                         .template field<4 * (kPart / 2), 4>();
    const auto high = Bytes<Arch>::load(block + 128 + 32 * half).template field<2 * kPart, 2, 4>();
    return low | high;
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

#ifdef WEFT_SIXTEEN
// Units: 4 of scales, then for each half and i two of ql and one of qh. Halves: d.
template <class Arch>
struct PanelCodec<Arch, Q6_KWeights> : PanelCodecBase<Arch> {
  using P = PanelCodecBase<Arch>;
  using typename P::S, typename P::Words, typename P::Floats;
  static constexpr int kSubs = 8, kUnits = 52, kGroups = 2, kParts = 4, kScales = 2, kOffset = 32,
                       kMaxCode = 63;

  static WEFT_INLINE void header(const std::byte* block, const std::byte* halves, Floats* scales,
                                 Floats*) {
    const Floats d = S::load_f16(halves);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const Words four = P::unit(block, i);
#pragma GCC unroll 4
      for (int b = 0; b < 4; ++b) {
        const Words scale = S::signed_right32(S::left32(four, 24 - 8 * b), 24);
        scales[4 * i + b] = S::to_floats(scale) * d;
      }
    }
  }
  static WEFT_INLINE void codes(const std::byte* block, int half, int i, Words (&out)[4]) {
    const int at = 4 + 24 * half + 3 * i;
    const Words low[] = {P::unit(block, at), P::unit(block, at + 1)};
    const Words high = P::unit(block, at + 2), mask = S::all8(0x30);
    const Words moved[] = {S::left16(high, 4), S::left16(high, 2), high, S::right16(high, 2)};
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p)
      out[p] = S::or_masked(P::nibbles(low[p % 2], p / 2), moved[p], mask);
  }
};
#endif

}  // namespace weft::cpu
