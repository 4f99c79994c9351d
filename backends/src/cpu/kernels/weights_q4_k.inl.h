#pragma once
// Q4_K: d, dmin (f16), 12 bytes of 6-bit scales and minima, 128 bytes of nibbles; 32 bytes hold
// sub-blocks 2g (low) and 2g + 1 (high) (ops/formats/q4_k.h).

#include "cpu/kernels/weights.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, Q4_KWeights> : BlockCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 144, kGroups = 4, kParts = 2;
  static constexpr bool kHasMins = true;
  struct Header {
    float scales[16];  // 8 scales, 8 minima
    WEFT_INLINE const float* mins() const { return scales + 8; }
  };

  // Four 6-bit numbers at a time, one in each byte of a word: the first four stand in the low bits
  // of their bytes, the others have four bits in the last word and their upper two in the top of
  // the first ones' bytes.
  static WEFT_INLINE Header header(const std::byte* block) {
    std::uint32_t packed[3];
    std::memcpy(packed, block + 4, sizeof(packed));
    alignas(32) const std::uint32_t words[8] = {
        packed[0] & 0x3f3f3f3fu,
        (packed[2] & 0x0f0f0f0fu) | (packed[0] >> 2 & 0x30303030u),
        packed[1] & 0x3f3f3f3fu,
        (packed[2] >> 4 & 0x0f0f0f0fu) | (packed[1] >> 2 & 0x30303030u),
        0,
        0,
        0,
        0};
    using V = typename Simd<Arch>::V;
    constexpr int kLanes = Simd<Arch>::kLanes;
    V values[32 / kLanes];
    Bytes<Arch>::load(reinterpret_cast<const std::byte*>(words)).to_floats(values);
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

}  // namespace weft::cpu
