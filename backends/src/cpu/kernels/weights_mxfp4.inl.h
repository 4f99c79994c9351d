#pragma once
// MXFP4: e, 16 bytes of nibbles: low ones first (ops/formats/mxfp4.h). Codes are what the nibbles
// stand for, doubled, scales 2^(e - 128).

#include "cpu/kernels/weights.inl.h"
#include "cpu/simd/lookup.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, MXFP4Weights> : BlockCodec {
  static constexpr int kBlockElems = 32, kBlockBytes = 17;
  static constexpr bool kSigned = true;
  struct Header {
    float scales[1];
  };
  static WEFT_INLINE Header header(const std::byte* block) {
    const auto e = static_cast<std::uint32_t>(*block);
    const std::uint32_t bits = e < 2 ? 0x00200000u << e : (e - 1) << 23;
    Header h;
    std::memcpy(h.scales, &bits, sizeof(bits));
    return h;
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int) {
    return Lookup<Arch>::e2m1(Bytes<Arch>::load_nibbles(block + 1));
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

}  // namespace weft::cpu
