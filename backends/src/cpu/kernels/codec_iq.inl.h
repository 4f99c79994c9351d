#pragma once
// What the codecs of the IQ formats share. Their codes have signs, and so a code of an IQ1 format
// is eight times its weight: 8 * coordinate +- 1.

#include "cpu/kernels/weights.inl.h"
#include "cpu/simd/lookup.inl.h"

namespace weft::cpu {

struct IQCodec : BlockCodec {
  static constexpr bool kSigned = true, kByRows = true;

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
};

// A scale for each of kCount sub-blocks.
template <class Arch, int kCount>
struct IQHeader {
  float scales[kCount];

  // unit * (2 * n + 1) for numbers n of 4 bits, the lowest first.
  static WEFT_INLINE IQHeader odd(float unit, std::uint64_t numbers) {
    IQHeader h;
    if constexpr (Simd<Arch>::kLanes >= 8) {
#ifdef __AVX2__
      const __m256i shifts = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
      const __m256i one = _mm256_set1_epi32(1), bits = _mm256_set1_epi32(30);
#pragma GCC unroll 2
      for (int i = 0; i < kCount; i += 8) {
        // Bit 0 in place of the number's neighbour below.
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

#ifdef __AVX512VNNI__
template <class Arch>
struct IQ4Panel : PanelCodecBase {
  static constexpr int kOffset = 128;
  // What the nibbles stand for, plus kOffset.
  static WEFT_INLINE __m512i raised(__m512i nibbles) {
    const __m128i table = Sixteens<Arch>::template table<kOffset>();
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(table), nibbles);
  }
};
#endif

}  // namespace weft::cpu
