#pragma once
// Code shared by the codecs of the IQ formats. Their codes are signed. A code of an IQ1 format is
// eight times its weight: 8 * coordinate +- 1.

#include "weft/ops/formats/iq_grids.h"

#include "cpu/kernels/linear/codec.inl.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

struct IQCodec : BlockCodec {
  static constexpr bool kSigned = true, kHasShifts = false;

  template <class T>
  static WEFT_INLINE T read(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof(value));
    return value;
  }
  static WEFT_INLINE unsigned byte(const std::byte* block, int i) {
    return static_cast<unsigned>(block[i]);
  }
  // Points of 8 and of 4 coordinates.
  static WEFT_INLINE std::uint64_t eight(const void* grid, unsigned point) {
    return read<std::uint64_t>(static_cast<const std::byte*>(grid) + 8 * point);
  }
  static WEFT_INLINE std::int32_t four(const void* grid, unsigned point) {
    return read<std::int32_t>(static_cast<const std::byte*>(grid) + 4 * point);
  }

#ifdef __AVX512VNNI__
  // 2 * n + 1 for 16 numbers n of 4 bits, the lowest first; for the upper 4 bits of each dword.
  static WEFT_INLINE __m128i odd_of_nibbles(const std::byte* p) {
    const __m128i all = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    const __m128i bits = _mm_set1_epi8(30), one = _mm_set1_epi8(1);
    const __m128i low = _mm_and_si128(_mm_slli_epi16(all, 1), bits),
                  high = _mm_and_si128(_mm_srli_epi16(all, 3), bits);
    return _mm_or_si128(_mm_unpacklo_epi8(low, high), one);
  }
  static WEFT_INLINE __m128i odd_of_high(__m256i dwords) {
    const __m256i twice = _mm256_and_si256(_mm256_srli_epi32(dwords, 27), _mm256_set1_epi32(30));
    return _mm256_cvtepi32_epi8(_mm256_or_si256(twice, _mm256_set1_epi32(1)));
  }
  // Indices that repeat each of 8 words four times.
  static WEFT_INLINE __m512i fourfold() {
    constexpr long long kOnes = 0x0001000100010001;
    return _mm512_setr_epi64(0, kOnes, 2 * kOnes, 3 * kOnes, 4 * kOnes, 5 * kOnes, 6 * kOnes,
                             7 * kOnes);
  }
  // Takes dwords with four times 7 bits. Sets the eighth bit of each byte so that the number of set
  // bits is even.
  static WEFT_INLINE __m256i even_of_7(__m256i s) {
    __m256i odd = _mm256_xor_si256(s, _mm256_slli_epi16(s, 4));
    odd = _mm256_xor_si256(odd, _mm256_slli_epi16(odd, 2));
    odd = _mm256_xor_si256(odd, _mm256_slli_epi16(odd, 1));
    return _mm256_ternarylogic_epi32(_mm256_set1_epi8(-128), odd, s, 0xea);
  }
  static WEFT_INLINE __m256i even_of_28(__m256i s) {
    __m256i all = _mm256_and_si256(s, _mm256_set1_epi32(0x7f));
    all = _mm256_ternarylogic_epi32(_mm256_set1_epi32(0x7f00), _mm256_slli_epi32(s, 1), all, 0xea);
    all =
        _mm256_ternarylogic_epi32(_mm256_set1_epi32(0x7f0000), _mm256_slli_epi32(s, 2), all, 0xea);
    all = _mm256_ternarylogic_epi32(_mm256_set1_epi32(0x7f000000), _mm256_slli_epi32(s, 3), all,
                                    0xea);
    return even_of_7(all);
  }
  static WEFT_INLINE __m512i even_of_7(__m512i s) {
    __m512i odd = _mm512_xor_si512(s, _mm512_slli_epi16(s, 4));
    odd = _mm512_xor_si512(odd, _mm512_slli_epi16(odd, 2));
    odd = _mm512_xor_si512(odd, _mm512_slli_epi16(odd, 1));
    return _mm512_ternarylogic_epi32(_mm512_set1_epi8(-128), odd, s, 0xea);
  }
  static WEFT_INLINE __m512i even_of_28(__m512i s) {
    __m512i all = _mm512_and_si512(s, _mm512_set1_epi32(0x7f));
    all = _mm512_ternarylogic_epi32(_mm512_set1_epi32(0x7f00), _mm512_slli_epi32(s, 1), all, 0xea);
    all =
        _mm512_ternarylogic_epi32(_mm512_set1_epi32(0x7f0000), _mm512_slli_epi32(s, 2), all, 0xea);
    all = _mm512_ternarylogic_epi32(_mm512_set1_epi32(0x7f000000), _mm512_slli_epi32(s, 3), all,
                                    0xea);
    return even_of_7(all);
  }
  // For most formats (lattice_rows.inl.h, lattice_eights.inl.h).
  static WEFT_INLINE std::uint16_t half(const std::byte* block) {
    return read<std::uint16_t>(block);
  }
  // For formats that look up bytes (lattice_bytes.inl.h).
  static constexpr bool kEvenFirst = false, kHasSigns = false;
  static constexpr int kTailDwords = 0, kTail[] = {0}, kSigns = 0;
  template <class Highs>
  static WEFT_INLINE Highs highs(const auto&, int, int) {
    return {};
  }
  // The values of IQ2, and those negated, plus 128.
  static WEFT_INLINE __m128i iq2_values() {
    const __m128i all = _mm_setr_epi8(8, 25, 43, 0, 0, 0, 0, 0, -8, -25, -43, 0, 0, 0, 0, 0);
    return _mm_xor_si128(all, _mm_set1_epi8(-128));
  }
  // dots + (codes * activations); codes are magnitudes with signs. In add_shifted() they have an
  // offset (kIQ1Raised), and are 2 less if the shift is negative.
  static WEFT_INLINE __m512i add(__m512i dots, __m512i codes, __mmask64 signs, __m512i x) {
    return _mm512_dpbusd_epi32(dots, codes,
                               _mm512_mask_sub_epi8(x, signs, _mm512_setzero_si512(), x));
  }
  static WEFT_INLINE __m512i add_shifted(__m512i dots, __m512i codes, __mmask64 down, __m512i x) {
    return _mm512_dpbusd_epi32(dots, _mm512_mask_sub_epi8(codes, down, codes, _mm512_set1_epi8(2)),
                               x);
  }
#endif
};

// Scales unit * (2 * n + 1), for numbers n of 4 bits, the lowest first.
struct IQScales {
  float unit;
  std::uint64_t numbers;
};

// A scale for each of kCount sub-blocks.
template <class Arch, int kCount>
struct IQHeader {
  float scales[kCount];

  static WEFT_INLINE IQHeader odd(IQScales scales) {
    const auto [unit, numbers] = scales;
    IQHeader h;
    if constexpr (Simd<Arch>::kLanes >= 8) {
#ifdef __AVX2__
      const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
      const __m256i one = _mm256_set1_epi32(1), bits = _mm256_set1_epi32(30);
#pragma GCC unroll 2
      for (int i = 0; i < kCount; i += 8) {
        // Bit 0 instead of the lower neighbour's bits.
        const __m256i all = _mm256_set1_epi32(static_cast<int>(numbers >> 4 * i));
        const __m256i n = _mm256_slli_epi32(_mm256_srlv_epi32(all, shifts), 1);
        const __m256i step = _mm256_or_si256(_mm256_and_si256(n, bits), one);
        _mm256_storeu_ps(h.scales + i,
                         _mm256_mul_ps(_mm256_cvtepi32_ps(step), _mm256_set1_ps(unit)));
      }
#endif
    } else {
      for (int i = 0; i < kCount; ++i)
        h.scales[i] = unit * static_cast<float>(2 * (numbers >> 4 * i & 15) + 1);
    }
    return h;
  }
};

#ifdef WEFT_SIXTEEN
template <class Arch>
struct IQ4Panel : PanelCodecBase<Arch> {
  using S = Sixteen<Arch>;
  static constexpr int kOffset = 128, kMaxCode = 127;
  // The values of the nibbles, plus S::kRaise.
  static WEFT_INLINE typename S::Words raised(typename S::Words nibbles) {
    return S::look_up(Lookup<Arch>::template table<kIQ4Values, S::kRaise>(), nibbles);
  }
};
#endif

}  // namespace weft::cpu
