#pragma once
// MXFP4: e, 16 bytes of nibbles: low ones first (ops/formats/mxfp4.h). Codes are the doubled values
// of the nibbles, scales are 2^(e - 128).

#include "cpu/kernels/weights/codec_e2m1.inl.h"

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

#ifdef WEFT_SIXTEEN
// Halves: the 16 rows' e, of one byte. Units: the 16 bytes of nibbles.
template <class Arch>
struct PanelCodec<Arch, MXFP4Weights> : E2M1Panel<Arch> {
  using P = PanelCodecBase<Arch>;
  using typename P::S, typename P::Words, typename P::Floats;
  static constexpr int kSubs = 1, kUnits = 4, kHalfBytes = 1;
  // As Codec::header.
  static WEFT_INLINE void header(const std::byte*, const std::byte* bytes, Floats* scales,
                                 Floats*) {
    const Words e = S::load_bytes(bytes);
    const Words normal = S::left32(S::add32(e, S::all32(-1)), 23);  // not above 0 for small e
    const Words small = S::left32(S::add32(S::min32(e, S::all32(1)), S::all32(1)), 21);
    *scales = S::bits_to_floats(S::max32(normal, small));
  }
  static WEFT_INLINE void codes(const std::byte* block, int, int i, Words (&out)[1]) {
    out[0] = E2M1Panel<Arch>::raised(P::nibbles(P::unit(block, i % 4), i / 4));
  }
};
#endif

}  // namespace weft::cpu
