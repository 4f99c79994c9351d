#pragma once

#include "cpu/kernels/quantize.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

// The 32 codes of a block in registers, and what differs between instruction sets.
template <class Arch>
struct QuantizedCodes;

template <>
struct QuantizedCodes<Sse2> {
  using V = Simd<Sse2>::V;

  // Rounded to nearest even, within -127 .. 127; what is no number becomes -127.
  static WEFT_INLINE __m128i pack(const V* x) {
    const __m128i least = _mm_set1_epi16(-127), most = _mm_set1_epi16(127);
    const __m128i low = _mm_packs_epi32(_mm_cvtps_epi32(x[0]), _mm_cvtps_epi32(x[1]));
    const __m128i high = _mm_packs_epi32(_mm_cvtps_epi32(x[2]), _mm_cvtps_epi32(x[3]));
    return _mm_packs_epi16(_mm_max_epi16(_mm_min_epi16(low, most), least),
                           _mm_max_epi16(_mm_min_epi16(high, most), least));
  }
  // Writes codes; sums of the first and the second half.
  static WEFT_INLINE void store(const V (&x)[8], std::byte* out, std::int32_t (&sums)[2]) {
    for (int half = 0; half < 2; ++half) {
      const __m128i codes = pack(x + 4 * half);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * half), codes);
      sums[half] = sum(codes);
    }
  }
  // Raised by 128, because there is a sum of bytes without sign alone.
  static WEFT_INLINE std::int32_t sum(__m128i codes) {
    const __m128i sums =
        _mm_sad_epu8(_mm_xor_si128(codes, _mm_set1_epi8(-128)), _mm_setzero_si128());
    return _mm_cvtsi128_si32(sums) + _mm_extract_epi16(sums, 4) - 16 * 128;
  }
  // As bits: magnitudes of floats are ordered like integers, and a NaN lies above all of them.
  static WEFT_INLINE float largest_magnitude(const V (&x)[8]) {
    const __m128i magnitude = _mm_set1_epi32(0x7fffffff);
    __m128i m = _mm_setzero_si128();
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) m = max(m, _mm_and_si128(_mm_castps_si128(x[i]), magnitude));
    m = max(m, _mm_shuffle_epi32(m, 0x4e));
    return _mm_cvtss_f32(_mm_castsi128_ps(max(m, _mm_shuffle_epi32(m, 0xb1))));
  }
  static WEFT_INLINE __m128i max(__m128i a, __m128i b) {
    return Simd<Sse2>::choose(_mm_cmpgt_epi32(a, b), a, b);
  }
};

#ifdef __AVX2__
template <class Arch>
struct QuantizedCodes {
  using V = typename Simd<Arch>::V;
  static constexpr int kLanes = Simd<Arch>::kLanes;

  static WEFT_INLINE void store(const V (&x)[32 / kLanes], std::byte* out,
                                std::int32_t (&sums)[2]) {
    const __m256i codes = _mm256_max_epi8(pack(x), _mm256_set1_epi8(-127));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), codes);
    const __m256i quarters =
        _mm256_sad_epu8(_mm256_xor_si256(codes, _mm256_set1_epi8(-128)), _mm256_setzero_si256());
    const __m256i halves = _mm256_add_epi32(quarters, _mm256_shuffle_epi32(quarters, 0x4e));
    sums[0] = _mm_cvtsi128_si32(_mm256_castsi256_si128(halves)) - 16 * 128;
    sums[1] = _mm_cvtsi128_si32(_mm256_extracti128_si256(halves, 1)) - 16 * 128;
  }
  static WEFT_INLINE __m256i pack(const V (&x)[32 / kLanes]) {
    if constexpr (kLanes == 8) {  // packing works within halves of a register
      const __m256i low = _mm256_packs_epi32(_mm256_cvtps_epi32(x[0]), _mm256_cvtps_epi32(x[1]));
      const __m256i high = _mm256_packs_epi32(_mm256_cvtps_epi32(x[2]), _mm256_cvtps_epi32(x[3]));
      return _mm256_permutevar8x32_epi32(_mm256_packs_epi16(low, high),
                                         _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    } else {
#ifdef __AVX512BW__
      return _mm256_set_m128i(_mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(x[1])),
                              _mm512_cvtsepi32_epi8(_mm512_cvtps_epi32(x[0])));
#endif
    }
  }
  static WEFT_INLINE float largest_magnitude(const V (&x)[32 / kLanes]) {
    __m256i m;
    if constexpr (kLanes == 8) {
      const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
      __m256i parts[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) parts[i] = _mm256_and_si256(_mm256_castps_si256(x[i]), magnitude);
      m = _mm256_max_epi32(_mm256_max_epi32(parts[0], parts[1]),
                           _mm256_max_epi32(parts[2], parts[3]));
    } else {
#ifdef __AVX512BW__
      const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
      const __m512i both = _mm512_max_epi32(_mm512_and_si512(_mm512_castps_si512(x[0]), magnitude),
                                            _mm512_and_si512(_mm512_castps_si512(x[1]), magnitude));
      m = _mm256_max_epi32(_mm512_castsi512_si256(both), _mm512_extracti32x8_epi32(both, 1));
#endif
    }
    __m128i n = _mm_max_epi32(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
    n = _mm_max_epi32(n, _mm_shuffle_epi32(n, 0x4e));
    return _mm_cvtss_f32(_mm_castsi128_ps(_mm_max_epi32(n, _mm_shuffle_epi32(n, 0xb1))));
  }
};
#endif

template <class Arch>
struct QuantizeBlock {
  using V = typename Simd<Arch>::V;
  using Codes = QuantizedCodes<Arch>;
  static constexpr int kLanes = Simd<Arch>::kLanes, kVectors = 32 / kLanes;

  static WEFT_INLINE void run(const float* in, std::byte* out) {
    V x[kVectors];
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) x[i] = V::load_unaligned(in + i * kLanes);
    store(x, out);
  }

  static WEFT_INLINE void store(V (&x)[kVectors], std::byte* out) {
    const float d = Codes::largest_magnitude(x) / 127;
    divide(x, d);
    std::int32_t sums[2];
    Codes::store(x, out + 20, sums);
    const float scales[] = {d, d * static_cast<float>(sums[0] + sums[1])};
    const std::int32_t starts[] = {-128 * (sums[0] + sums[1]), -128 * sums[0], -128 * sums[1]};
    std::memcpy(out, scales, 8);
    std::memcpy(out + 8, starts, 12);
  }

  // With fused multiply-adds a product with the reciprocal and one correction give the rounded
  // quotient, but for cases nearer to the middle of two floats than 2^-23 of their distance; as
  // long as nothing leaves the range of floats.
  static WEFT_INLINE void divide(V (&x)[kVectors], float d) {
    if constexpr (kLanes > 4) {
      if (d > 0x1p-80f && d < 0x1p80f) {
        const V divisor(d), factor(1 / d);
#pragma GCC unroll 8
        for (int i = 0; i < kVectors; ++i) {
          const V q = x[i] * factor;
          x[i] = xsimd::fma(xsimd::fnma(q, divisor, x[i]), factor, q);
        }
        return;
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) x[i] = d != 0 ? x[i] / V(d) : V(0.0f);
  }
};

template <class Arch>
void Quantize<Arch>::run(const float* x, std::byte* y, std::int64_t n_blocks) noexcept {
  for (std::int64_t i = 0; i < n_blocks; ++i) QuantizeBlock<Arch>::run(x + 32 * i, y + 52 * i);
}

}  // namespace weft::cpu
