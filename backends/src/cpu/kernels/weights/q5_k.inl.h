#pragma once
// Q5_K: d, dmin (f16) and 12 bytes of scales and minima as in Q4_K, 32 bytes of fifth bits, 128
// bytes of nibbles (ops/formats/q5_k.h). Bit s of the 32 bytes belongs to sub-block s.

#include "cpu/kernels/weights/q4_k.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, Q5_KWeights> : BlockCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 176, kParts = 8;
  static constexpr bool kHasMins = true;
  using Header = typename Codec<Arch, Q4_KWeights>::Header;
  static WEFT_INLINE Header header(const std::byte* block) {
    return Codec<Arch, Q4_KWeights>::header(block);
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int) {
    const auto low = Bytes<Arch>::load(block + 48 + 32 * (kPart / 2));
    const auto high = Bytes<Arch>::load(block + 16);
    return low.template field<4 * (kPart % 2), 4>() | high.template field<kPart, 1, 4>();
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

#ifdef WEFT_SIXTEEN
// Units: d and dmin, three of scales, eight times one of fifth bits and one of nibbles, three times
// eight of nibbles.
template <class Arch>
struct PanelCodec<Arch, Q5_KWeights> : PanelCodecBase<Arch> {
  using P = PanelCodecBase<Arch>;
  using typename P::S, typename P::Words, typename P::Floats;
  static constexpr int kSubs = 8, kUnits = 44, kGroups = 4, kParts = 2, kMaxCode = 31;
  static constexpr bool kHasMins = true, kHasHalves = false;
  static WEFT_INLINE void header(const std::byte* block, const std::byte* halves, Floats* scales,
                                 Floats* mins) {
    PanelCodec<Arch, Q4_KWeights>::header(block, halves, scales, mins);
  }
  static WEFT_INLINE void codes(const std::byte* block, int group, int i, Words (&out)[2]) {
    const Words low = P::unit(block, group == 0 ? 5 + 2 * i : 12 + 8 * group + i),
                mask = S::all8(0x10);
    const Words high = S::right16(P::unit(block, 4 + 2 * i), 2 * group);
    out[0] = S::or_masked(P::nibbles(low, 0), S::left16(high, 4), mask);
    out[1] = S::or_masked(P::nibbles(low, 1), S::left16(high, 3), mask);
  }
};
#endif

}  // namespace weft::cpu
