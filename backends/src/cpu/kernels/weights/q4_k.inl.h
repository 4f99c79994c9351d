#pragma once
// Q4_K: d, dmin (f16), 12 bytes of 6-bit scales and minima, 128 bytes of nibbles; 32 bytes hold
// sub-blocks 2g (low) and 2g + 1 (high) (ops/formats/q4_k.h).

#include "cpu/kernels/linear/codec.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, Q4_KWeights> : BlockCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 144, kGroups = 4, kParts = 2;
  static constexpr bool kHasMins = true;
  struct Header {
    float scales[16];  // 8 scales, 8 minima
    WEFT_INLINE const float* mins() const { return scales + 8; }
  };

  // Four 6-bit numbers at a time, one in each byte of a word: the first four are in the low bits
  // of their bytes, the others have four bits in the last word and their upper two in the top of
  // the first ones' bytes.
  static WEFT_INLINE void unpack(const std::byte* block, std::uint32_t (&out)[4]) {
    std::uint32_t packed[3];  // scales, minima, the low bits of both
    std::memcpy(packed, block + 4, sizeof(packed));
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      out[2 * i] = packed[i] & 0x3f3f3f3f;
      out[2 * i + 1] = (packed[i] >> 2 & 0x30303030) | (packed[2] >> 4 * i & 0x0f0f0f0f);
    }
  }
  static WEFT_INLINE Header header(const std::byte* block) {
    using V = typename Simd<Arch>::V;
    constexpr int kLanes = Simd<Arch>::kLanes;
    std::uint32_t bytes[4];
    unpack(block, bytes);
    V values[16 / kLanes];
    Bytes<Arch>::sixteen_to_floats(reinterpret_cast<const std::byte*>(bytes), values);
    const float d = Simd<Arch>::f16(block), dmin = Simd<Arch>::f16(block + 2);
    Header h;
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += kLanes) {
      V factor(i < 8 ? d : dmin);
      if constexpr (kLanes == 16) factor = Simd<Arch>::halves(d, dmin);
      (values[i / kLanes] * factor).store_unaligned(h.scales + i);
    }
    return h;
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int group) {
    return Bytes<Arch>::load(block + 16 + 32 * group).template field<4 * kPart, 4>();
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

#ifdef WEFT_SIXTEEN
// Units: d and dmin, three of scales, four times eight of nibbles.
template <class Arch>
struct PanelCodec<Arch, Q4_KWeights> : PanelCodecBase<Arch> {
  using P = PanelCodecBase<Arch>;
  using typename P::S, typename P::Words, typename P::Floats;
  static constexpr int kSubs = 8, kUnits = 36, kGroups = 4, kParts = 2, kMaxCode = 15;
  static constexpr bool kHasMins = true, kHasHalves = false;

  // As Codec::header: the first four numbers are in the low bits of their bytes.
  static WEFT_INLINE void header(const std::byte* block, const std::byte*, Floats* scales,
                                 Floats* mins) {
    const Words d = P::unit(block, 0), packed[] = {P::unit(block, 1), P::unit(block, 2)},
                last = P::unit(block, 3);
    const Floats factors[] = {P::low_halves(d), P::high_halves(d)};
    const Words six = S::all8(0x3f), low = S::all8(0x0f), top = S::all8(0x30);
#pragma GCC unroll 2
    for (int n = 0; n < 2; ++n) {  // scales, minima
      Floats* out = n == 0 ? scales : mins;
      const Words last_bits = S::right32(last, 4 * n) & low;
      const Words top_bits = S::right32(packed[n], 2) & top;
      bytes_times(packed[n] & six, factors[n], out);
      bytes_times(last_bits | top_bits, factors[n], out + 4);
    }
  }
  // Byte b of every unit, times the row's factor, to out[b].
  static WEFT_INLINE void bytes_times(Words bytes, Floats factor, Floats* out) {
#pragma GCC unroll 4
    for (int b = 0; b < 4; ++b) out[b] = S::to_floats(P::byte(bytes, b)) * factor;
  }
  static WEFT_INLINE void codes(const std::byte* block, int group, int i, Words (&out)[2]) {
    const Words bytes = P::unit(block, 4 + 8 * group + i);
    out[0] = P::nibbles(bytes, 0);
    out[1] = P::nibbles(bytes, 1);
  }
};
#endif

}  // namespace weft::cpu
