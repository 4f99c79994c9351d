#pragma once
// NVFP4: 4 scales of 8 bits, 4 times 8 bytes of nibbles: low ones first (ops/formats/nvfp4.h).
// Codes are what the nibbles stand for, doubled.

#include "cpu/kernels/weights.inl.h"
#include "cpu/simd/lookup.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, NVFP4Weights> : BlockCodec {
  static constexpr int kBlockElems = 64, kBlockBytes = 36, kParts = 2;
  static constexpr bool kSigned = true, kTwoScales = true;
  struct Header {
    float scales[4];
  };
  // The bits of a scale as those of a float with another bias; 0x7f is 0.
  static WEFT_INLINE float half_scale(std::byte byte) {
    const auto bits = (static_cast<std::uint32_t>(byte) & 0x7fu) << 20;
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return byte == std::byte{0x7f} ? 0 : value * 0x1p119f;
  }
  static WEFT_INLINE Header header(const std::byte* block) {
    return {
        {half_scale(block[0]), half_scale(block[1]), half_scale(block[2]), half_scale(block[3])}};
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int) {
    const auto nibbles = Bytes<Arch>::load_nibbles(block + 4 + 16 * kPart);
    return Lookup<Arch>::e2m1(nibbles.swap_middle_eights());
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

}  // namespace weft::cpu
