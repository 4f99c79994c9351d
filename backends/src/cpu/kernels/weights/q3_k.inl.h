#pragma once
// Q3_K: 32 bytes of third bits, 64 bytes with 2 bits of four weights each, 12 bytes of scales of 6
// bits, d (f16) (ops/formats/q3_k.h).

#include "cpu/kernels/linear/codec.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, Q3_KWeights> : BlockCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 110, kParts = 8, kOffset = 4;
  static constexpr bool kTwoScales = true;
  struct Header {
    float scales[16];
  };
  // Four scales to a word: low four bits in the first two words, upper two in the third.
  static WEFT_INLINE Header header(const std::byte* block) {
    using V = typename Simd<Arch>::V;
    constexpr int kLanes = Simd<Arch>::kLanes;
    std::uint32_t packed[3];
    std::memcpy(packed, block + 96, sizeof(packed));
    alignas(32) std::uint32_t words[8] = {};
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const std::uint32_t low = packed[i % 2] >> i / 2 * 4 & 0x0f0f0f0fu;
      words[i] = low | (packed[2] >> 2 * i & 0x03030303u) << 4;
    }
    V values[32 / kLanes];
    Bytes<Arch>::load(reinterpret_cast<const std::byte*>(words)).minus(32).to_floats(values);
    const V d(Simd<Arch>::f16(block + 108));
    Header h;
#pragma GCC unroll 4
    for (int i = 0; i < 16 / kLanes; ++i) (values[i] * d).store_unaligned(h.scales + i * kLanes);
    return h;
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int) {
    const auto low = Bytes<Arch>::load(block + 32 + 32 * (kPart / 4));
    return low.template field<2 * (kPart % 4), 2>() |
           Bytes<Arch>::load(block).template field<kPart, 1, 2>();
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

#ifdef WEFT_SIXTEEN
// Units: three of scales, eight times one of third bits and one of low bits, eight of low bits.
// Halves: d.
template <class Arch>
struct PanelCodec<Arch, Q3_KWeights> : PanelCodecBase<Arch> {
  using P = PanelCodecBase<Arch>;
  using typename P::S, typename P::Words, typename P::Floats;
  static constexpr int kSubs = 8, kUnits = 27, kGroups = 2, kParts = 4, kScales = 2, kOffset = 4,
                       kMaxCode = 7;

  // As Codec::header.
  static WEFT_INLINE void header(const std::byte* block, const std::byte* halves, Floats* scales,
                                 Floats*) {
    const Floats d = S::load_f16(halves);
    const Words packed[] = {P::unit(block, 0), P::unit(block, 1)}, top = P::unit(block, 2);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const Words high = S::left16(P::pairs(top, i), 4);
      const Words four = P::nibbles(packed[i % 2], i / 2) | high;
#pragma GCC unroll 4
      for (int b = 0; b < 4; ++b) {
        const Words raised = S::right32(four, 8 * b) & S::all32(63);
        scales[4 * i + b] = S::to_floats(S::add32(raised, S::all32(-32))) * d;
      }
    }
  }
  static WEFT_INLINE void codes(const std::byte* block, int half, int i, Words (&out)[4]) {
    const Words low = P::unit(block, half == 0 ? 4 + 2 * i : 19 + i), mask = S::all8(4);
    const Words high = S::right16(P::unit(block, 3 + 2 * i), 4 * half);
    const Words moved[] = {S::left16(high, 2), S::left16(high, 1), high, S::right16(high, 1)};
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) out[p] = S::or_masked(P::pairs(low, p), moved[p], mask);
  }
};
#endif

}  // namespace weft::cpu
