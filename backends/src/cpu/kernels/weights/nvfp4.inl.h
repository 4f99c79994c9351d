#pragma once
// NVFP4: 4 scales of 8 bits, 4 times 8 bytes of nibbles: low ones first (ops/formats/nvfp4.h).
// Codes are the doubled values of the nibbles.

#include "cpu/kernels/weights/codec_e2m1.inl.h"

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

#ifdef WEFT_SIXTEEN
// Units: scales, four times two of nibbles.
template <class Arch>
struct PanelCodec<Arch, NVFP4Weights> : E2M1Panel<Arch> {
  using P = PanelCodecBase<Arch>;
  using typename P::S, typename P::Words, typename P::Floats;
  static constexpr int kSubs = 2, kUnits = 9, kGroups = 2, kScales = 2;
  static constexpr bool kHasHalves = false;
  // As Codec::half_scale.
  static WEFT_INLINE void header(const std::byte* block, const std::byte*, Floats* scales,
                                 Floats*) {
    const Words bytes = S::clear8(P::unit(block, 0), 0x7f);
#pragma GCC unroll 4
    for (int s = 0; s < 4; ++s) {
      const Words moved = s < 3 ? S::left32(bytes, 20 - 8 * s) : S::right32(bytes, 4);
      const Words bits = moved & S::all32(0x7f << 20);
      scales[s] = S::bits_to_floats(bits) * S::all(0x1p119f);
    }
  }
  static WEFT_INLINE void codes(const std::byte* block, int group, int i, Words (&out)[1]) {
    const Words bytes = P::unit(block, 1 + 4 * group + i / 4 * 2 + i % 2);
    out[0] = E2M1Panel<Arch>::raised(P::nibbles(bytes, i % 4 / 2));
  }
};
#endif

}  // namespace weft::cpu
