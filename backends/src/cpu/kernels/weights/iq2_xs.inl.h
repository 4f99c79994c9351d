#pragma once
// IQ2_XS: d (f16), 32 points of 9 bits with 7 bits of signs, 16 numbers of 4 bits for scales
// (ops/formats/iq2_xs.h).

#include "cpu/kernels/lattice/lattice_bytes.inl.h"
#include "cpu/kernels/lattice/lattice_codes.inl.h"
#include "cpu/kernels/lattice/lattice_eights.inl.h"
#include "cpu/kernels/weights/codec_iq.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, IQ2_XSWeights> : IQCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 74, kGroups = 8, kCoordinates = 8;
  static constexpr bool kTwoScales = true;
  using Header = IQHeader<Arch, 16>;
  static WEFT_INLINE IQScales scales(const std::byte* block) {
    const auto numbers = read<std::uint64_t>(block + 66);
    return {Simd<Arch>::f16(block) * 0.125f, numbers};
  }
  static WEFT_INLINE Header header(const std::byte* block) { return Header::odd(scales(block)); }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int group) {
    const auto q = read<std::uint64_t>(block + 2 + 8 * group);
    const auto point = [&](int i) __attribute__((always_inline)) {
      return eight(&kIQ2_XSGrid, static_cast<unsigned>(q >> 16 * i & 511));
    };
    const auto signs = static_cast<std::uint32_t>((q >> 9 & 0x7f) | (q >> 18 & 0x3f80) |
                                                  (q >> 27 & 0x1fc000) | (q >> 36 & 0xfe00000));
    return Lookup<Arch>::negate(Lookup<Arch>::eights(point(0), point(1), point(2), point(3)),
                                Signs<Arch>::even(signs));
  }
#ifdef __AVX2__
  using Taken = LatticeTaken;
  using Words = LatticeWords<Arch>;
  static WEFT_INLINE const void* grid() {
    return &kIQ2_XSGrid;
  }
  static WEFT_INLINE void take(const std::byte* block, Taken& taken) {
    const __m256i a = Bytes<Arch>::load(block + 2).v, b = Bytes<Arch>::load(block + 34).v;
    const __m256i nine = _mm256_set1_epi16(511);
    Words::store(taken.points, _mm256_and_si256(a, nine));
    Words::store(taken.points + 16, _mm256_and_si256(b, nine));
    Words::store(taken.signs,
                 Words::even_of_7(Words::narrow(_mm256_srli_epi16(a, 9), _mm256_srli_epi16(b, 9))));
  }
#endif
#ifdef __AVX512VNNI__
  using OneToken = LatticeBytesOr<Arch, Codec, LatticeEights<Arch, Codec>>;
  static constexpr int kRaised = 0;
  static constexpr float kUnit = 0.125f;
  static WEFT_INLINE const std::byte* table() {
    return reinterpret_cast<const std::byte*>(&kIQ2_XSGrid);
  }
  static WEFT_INLINE __m512i points(const std::byte* block) {
    return _mm512_and_si512(_mm512_loadu_si512(block + 2), _mm512_set1_epi16(511));
  }
  static WEFT_INLINE __m256i signs(const std::byte* block) {
    return even_of_7(_mm512_cvtepi16_epi8(_mm512_srli_epi16(_mm512_loadu_si512(block + 2), 9)));
  }
  static WEFT_INLINE __m128i steps(const std::byte* block) {
    return odd_of_nibbles(block + 66);
  }
  static WEFT_INLINE const std::byte* grid_bytes() {
    return reinterpret_cast<const std::byte*>(&kIQ2_XSBytes);
  }
  static WEFT_INLINE __m128i values() {
    return iq2_values();
  }
  static constexpr int kPoints = 512;
  static constexpr bool kEvenFirst = true;
  static constexpr int kTailDwords = 2, kTail[] = {66, 70};
  static WEFT_INLINE __m512i numbers(const auto& block, int, int g) {
    return block.dwords[2 * g];
  }
  template <class Highs>
  static WEFT_INLINE Highs highs(const auto& block, int, int g) {
    return {_mm512_test_epi8_mask(block.dwords[2 * g + 1], _mm512_set1_epi8(1))};
  }
  static WEFT_INLINE __m512i signs(const auto& block, int g) {
    const __m512i seven = _mm512_srli_epi16(block.dwords[2 * g + 1], 1);
    return even_of_7(_mm512_and_si512(seven, _mm512_set1_epi8(0x7f)));
  }
  static WEFT_INLINE __m512i step_bits(const auto& block, int i) {
    return block.tail_number(0, i);
  }
#endif
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

}  // namespace weft::cpu
