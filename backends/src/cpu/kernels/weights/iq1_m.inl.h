#pragma once
// IQ1_M: 32 points of 8 bits, their high 3 bits with the signs of their shifts, 16 numbers of 3
// bits for scales, and the 16 bits of d in four places (ops/formats/iq1_m.h).

#include "cpu/kernels/lattice/lattice_codes.inl.h"
#include "cpu/kernels/lattice/lattice_eights.inl.h"
#include "cpu/kernels/weights/codec_iq.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, IQ1_MWeights> : IQCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 56, kGroups = 8, kCoordinates = 8;
  static constexpr bool kHasShifts = true;
  static constexpr bool kTwoScales = true;
  using Header = IQHeader<Arch, 16>;
  static WEFT_INLINE IQScales scales(const std::byte* block) {
    const auto all = read<std::uint64_t>(block + 48);
    const auto half = static_cast<std::uint16_t>((all >> 12 & 0xf) | (all >> 24 & 0xf0) |
                                                 (all >> 36 & 0xf00) | (all >> 48 & 0xf000));
    std::uint64_t numbers = 0;
#pragma GCC unroll 16
    for (int s = 0; s < 16; ++s) numbers |= (all >> (s / 4 * 16 + s % 4 * 3) & 7) << 4 * s;
    return {Simd<Arch>::f16(reinterpret_cast<const std::byte*>(&half)) * 0.125f, numbers};
  }
  static WEFT_INLINE Header header(const std::byte* block) {
    return Header::odd(scales(block));
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int group) {
    const unsigned high = read<std::uint16_t>(block + 32 + 2 * group);
    const auto point = [&](int i) __attribute__((always_inline)) {
      return eight(&kIQ1Grid, byte(block, 4 * group + i) | (high >> 4 * i & 7u) << 8);
    };
    const std::uint32_t down = (high >> 3 & 1u) * 0xffu | (high >> 7 & 1u) * 0xff00u |
                               (high >> 11 & 1u) * 0xff0000u | (high >> 15 & 1u) * 0xff000000u;
    return Lookup<Arch>::eightfold(Lookup<Arch>::eights(point(0), point(1), point(2), point(3)),
                                   Lookup<Arch>::negate(Lookup<Arch>::all(1), down));
  }
#ifdef __AVX2__
  using Taken = LatticeTaken;
  using Words = LatticeWords<Arch>;
  static WEFT_INLINE const void* grid() {
    return &kIQ1Raised;
  }
  static WEFT_INLINE void take(const std::byte* block, Taken& taken) {
    const __m128i highs = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 32));
    const __m256i shifts = _mm256_set1_epi32(0x00100100);  // a byte's lower bits, then its upper
    __m256i down[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const __m128i twice =
          i == 0 ? _mm_unpacklo_epi8(highs, highs) : _mm_unpackhi_epi8(highs, highs);
      const __m256i high = _mm256_mullo_epi16(_mm256_cvtepu8_epi16(twice), shifts);
      const __m256i three = _mm256_and_si256(high, _mm256_set1_epi16(0x700));
      Words::store(taken.points + 16 * i, _mm256_or_si256(Words::bytes_at(block + 16 * i), three));
      down[i] = _mm256_and_si256(_mm256_srli_epi16(high, 10), _mm256_set1_epi16(2));
    }
    Words::store(taken.signs,
                 _mm256_add_epi8(Words::narrow(down[0], down[1]), _mm256_set1_epi8(kIQ1Raise)));
  }
#endif
#ifdef __AVX512VNNI__
  using OneToken = LatticeEights<Arch, Codec>;
  static constexpr int kRaised = 4;
  static constexpr float kUnit = 0.125f;
  static WEFT_INLINE std::uint16_t half(const std::byte* block) {
    const auto all = read<std::uint64_t>(block + 48);
    return static_cast<std::uint16_t>((all >> 12 & 0xf) | (all >> 24 & 0xf0) | (all >> 36 & 0xf00) |
                                      (all >> 48 & 0xf000));
  }
  static WEFT_INLINE const std::byte* table() {
    return reinterpret_cast<const std::byte*>(&kIQ1Raised);
  }
  // The nibble of each point, and other bits above it.
  static WEFT_INLINE __m512i highs(const std::byte* block) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 32));
    const __m512i pairs = _mm512_cvtepu8_epi32(bytes);
    return _mm512_or_si512(pairs, _mm512_slli_epi32(pairs, 12));
  }
  static WEFT_INLINE __m512i points(const std::byte* block) {
    const __m512i low = _mm512_cvtepu8_epi16(Bytes<Arch>::load(block).v);
    return _mm512_ternarylogic_epi32(_mm512_set1_epi16(0x700), _mm512_slli_epi16(highs(block), 8),
                                     low, 0xea);
  }
  // The signs of shifts.
  static WEFT_INLINE __m256i signs(const std::byte* block) {
    return _mm256_movm_epi8(_mm512_test_epi16_mask(highs(block), _mm512_set1_epi16(8)));
  }
  static WEFT_INLINE __m128i steps(const std::byte* block) {
    const __m128i words = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(block + 48));
    const __m256i each =
        _mm256_permutexvar_epi16(_mm512_castsi512_si256(fourfold()), _mm256_castsi128_si256(words));
    const __m256i n = _mm256_srlv_epi16(each, _mm256_set1_epi64x(0x0009000600030000));
    const __m256i twice = _mm256_slli_epi16(_mm256_and_si256(n, _mm256_set1_epi16(7)), 1);
    return _mm256_cvtepi16_epi8(_mm256_or_si256(twice, _mm256_set1_epi16(1)));
  }
  static WEFT_INLINE __m512i add(__m512i dots, __m512i points, __mmask64 down, __m512i x) {
    return add_shifted(dots, points, down, x);
  }
#endif
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

}  // namespace weft::cpu
