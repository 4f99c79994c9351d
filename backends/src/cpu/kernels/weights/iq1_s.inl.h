#pragma once
// IQ1_S: d (f16), 32 points of 8 bits, for each sub-block their high 3 bits, a number of 3 bits for
// its scale and the sign of its shift (ops/formats/iq1_s.h).

#include "cpu/kernels/lattice/lattice_codes.inl.h"
#include "cpu/kernels/lattice/lattice_eights.inl.h"
#include "cpu/kernels/weights/codec_iq.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, IQ1_SWeights> : IQCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 50, kGroups = 8, kCoordinates = 8;
  static constexpr bool kHasShifts = true;
  using Header = IQHeader<Arch, 8>;
  static WEFT_INLINE IQScales scales(const std::byte* block) {
    std::uint64_t numbers = 0;
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) numbers |= (byte(block, 35 + 2 * s) >> 4 & 7u) << 4 * s;
    return {Simd<Arch>::f16(block) * 0.125f, numbers};
  }
  static WEFT_INLINE Header header(const std::byte* block) {
    return Header::odd(scales(block));
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int group) {
    const unsigned high = read<std::uint16_t>(block + 34 + 2 * group);
    const auto point = [&](int i) __attribute__((always_inline)) {
      return eight(&kIQ1Grid, byte(block, 2 + 4 * group + i) | (high >> 3 * i & 7u) << 8);
    };
    return Lookup<Arch>::eightfold(Lookup<Arch>::eights(point(0), point(1), point(2), point(3)),
                                   Lookup<Arch>::all(high >> 15 ? -1 : 1));
  }
#ifdef __AVX2__
  using Taken = LatticeTaken;
  using Words = LatticeWords<Arch>;
  static WEFT_INLINE const void* grid() {
    return &kIQ1Raised;
  }
  static WEFT_INLINE void take(const std::byte* block, Taken& taken) {
    const __m128i highs = _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 34));
    // Bits 0-2, 3-5 and 6-8 go up to bits 8-10; bits 9-11 go down.
    const __m256i up = _mm256_set1_epi64x(0x0000000400200100);
    const __m256i first = _mm256_set1_epi64x(0x0000070007000700),
                  last = _mm256_set1_epi64x(0x0700000000000000);
    __m256i down[2];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const __m256i high = Words::fourfold(highs, i);
      const __m256i three = _mm256_or_si256(_mm256_and_si256(_mm256_mullo_epi16(high, up), first),
                                            _mm256_and_si256(_mm256_srli_epi16(high, 1), last));
      Words::store(taken.points + 16 * i,
                   _mm256_or_si256(Words::bytes_at(block + 2 + 16 * i), three));
      down[i] = _mm256_slli_epi16(_mm256_srli_epi16(high, 15), 1);
    }
    Words::store(taken.signs,
                 _mm256_add_epi8(Words::narrow(down[0], down[1]), _mm256_set1_epi8(kIQ1Raise)));
  }
#endif
#ifdef __AVX512VNNI__
  using OneToken = LatticeEights<Arch, Codec>;
  static constexpr int kRaised = 4;
  static constexpr float kUnit = 0.125f;
  static WEFT_INLINE const std::byte* table() {
    return reinterpret_cast<const std::byte*>(&kIQ1Raised);
  }
  static WEFT_INLINE __m128i highs(const std::byte* block) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(block + 34));
  }
  static WEFT_INLINE __m512i points(const std::byte* block) {
    const __m512i low = _mm512_cvtepu8_epi16(Bytes<Arch>::load(block + 2).v);
    const __m512i words =
        _mm512_permutexvar_epi16(fourfold(), _mm512_castsi128_si512(highs(block)));
    const __m512i moved = _mm512_srlv_epi16(words, _mm512_set1_epi64(0x0009000600030000));
    return _mm512_ternarylogic_epi32(_mm512_set1_epi16(0x700), _mm512_slli_epi16(moved, 8), low,
                                     0xea);
  }
  // The signs of shifts: the same for all weights of a sub-block.
  static WEFT_INLINE __m256i signs(const std::byte* block) {
    return _mm256_cvtepi16_epi32(_mm_srai_epi16(highs(block), 15));
  }
  static WEFT_INLINE __m128i steps(const std::byte* block) {
    const __m128i twice = _mm_and_si128(_mm_srli_epi16(highs(block), 11), _mm_set1_epi16(14));
    const __m128i words = _mm_or_si128(twice, _mm_set1_epi16(1));
    return _mm_packus_epi16(words, words);
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
