#pragma once
// MXFP4: e, 16 bytes of nibbles: low ones first (ops/formats/mxfp4.h). Codes are the doubled values
// of the nibbles, scales are 2^(e - 128).

#include "cpu/kernels/codec_e2m1.inl.h"

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

#ifdef __AVX512VNNI__
// Halves: the 16 rows' e, of one byte. Units: the 16 bytes of nibbles.
template <class Arch>
struct PanelCodec<Arch, MXFP4Weights> : E2M1Panel<Arch> {
  using P = PanelCodecBase;
  static constexpr int kSubs = 1, kUnits = 4, kHalfBytes = 1;
  // As Codec::header.
  static WEFT_INLINE void header(const std::byte*, const std::byte* bytes, __m512* scales,
                                 __m512*) {
    const __m512i e =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
    const __mmask16 small = _mm512_cmplt_epu32_mask(e, _mm512_set1_epi32(2));
    const __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(e, _mm512_set1_epi32(1)), 23);
    *scales = _mm512_castsi512_ps(
        _mm512_mask_sllv_epi32(normal, small, _mm512_set1_epi32(0x00200000), e));
  }
  static WEFT_INLINE void codes(const std::byte* block, int, int i, __m512i (&out)[1]) {
    out[0] = E2M1Panel<Arch>::raised(P::nibbles(P::unit(block, i % 4), i / 4));
  }
};
#endif

}  // namespace weft::cpu
