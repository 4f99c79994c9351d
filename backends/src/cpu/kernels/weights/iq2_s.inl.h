#pragma once
// IQ2_S: d (f16), 32 points of 8 bits, 256 signs, the points' high 2 bits, 16 numbers of 4 bits for
// scales (ops/formats/iq2_s.h).

#include "cpu/kernels/lattice/lattice_codes.inl.h"
#include "cpu/kernels/lattice/lattice_eights.inl.h"
#include "cpu/kernels/weights/codec_iq.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, IQ2_SWeights> : IQCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 82, kGroups = 8, kCoordinates = 8;
  static constexpr bool kTwoScales = true;
  using Header = IQHeader<Arch, 16>;
  static WEFT_INLINE IQScales scales(const std::byte* block) {
    const auto numbers = read<std::uint64_t>(block + 74);
    return {Simd<Arch>::f16(block) * 0.125f, numbers};
  }
  static WEFT_INLINE Header header(const std::byte* block) { return Header::odd(scales(block)); }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int group) {
    const unsigned high = byte(block, 66 + group);
    const auto point = [&](int i) __attribute__((always_inline)) {
      return eight(&kIQ2_SGrid, byte(block, 2 + 4 * group + i) | (high << (8 - 2 * i) & 0x300u));
    };
    return Lookup<Arch>::negate(Lookup<Arch>::eights(point(0), point(1), point(2), point(3)),
                                read<std::uint32_t>(block + 34 + 4 * group));
  }
#ifdef __AVX2__
  using Taken = LatticeTaken;
  using Words = LatticeWords<Arch>;
  static WEFT_INLINE const void* grid() {
    return &kIQ2_SGrid;
  }
  static WEFT_INLINE void take(const std::byte* block, Taken& taken) {
    const __m128i highs = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(block + 66));
    const __m256i shifts = _mm256_set1_epi64x(0x0004001000400100);
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const __m256i high = Words::fourfold(_mm_cvtepu8_epi16(highs), i);
      const __m256i two =
          _mm256_and_si256(_mm256_mullo_epi16(high, shifts), _mm256_set1_epi16(0x300));
      Words::store(taken.points + 16 * i,
                   _mm256_or_si256(Words::bytes_at(block + 2 + 16 * i), two));
    }
    Words::store(taken.signs, Bytes<Arch>::load(block + 34).v);
  }
#endif
#ifdef __AVX512VNNI__
  using OneToken = LatticeEights<Arch, Codec>;
  static constexpr int kRaised = 0;
  static constexpr float kUnit = 0.125f;
  static WEFT_INLINE const std::byte* table() {
    return reinterpret_cast<const std::byte*>(&kIQ2_SGrid);
  }
  static WEFT_INLINE __m512i points(const std::byte* block) {
    const __m512i low = _mm512_cvtepu8_epi16(Bytes<Arch>::load(block + 2).v);
    // Every high byte to four words, above their middle.
    const __m128i highs = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(block + 66));
    const __m512i words = _mm512_permutexvar_epi16(
        fourfold(), _mm512_castsi256_si512(_mm256_slli_epi16(_mm256_cvtepu8_epi16(highs), 8)));
    const __m512i moved = _mm512_srlv_epi16(words, _mm512_set1_epi64(0x0006000400020000));
    return _mm512_ternarylogic_epi32(_mm512_set1_epi16(0x300), moved, low, 0xea);
  }
  static WEFT_INLINE __m256i signs(const std::byte* block) {
    return Bytes<Arch>::load(block + 34).v;
  }
  static WEFT_INLINE __m128i steps(const std::byte* block) {
    return odd_of_nibbles(block + 74);
  }
#endif
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

}  // namespace weft::cpu
