#pragma once
// Exact integer dot products of 32 weight codes with 32 activation codes, added to a vector of
// float lanes:
//   lanes += float(partial sums of w * a) * (scale of the weights * scale of the activations)
// One vector per output element takes all of its blocks in the order of K and is summed across
// lanes once at the end, so an element's bits do not depend on what else is computed beside it.
//
// A codec says how its codes are to be read: kSigned (bytes with sign) or unsigned with kOffset to
// be taken off. Activations are blocks of Q8A: codes within -127 .. 127, so that no 16-bit sum
// below saturates.

#include "cpu/simd/bytes.inl.h"

namespace weft::cpu {

// Where things lie in a block of Q8A (ops/formats/q8a.h).
struct ActivationBlock {
  static constexpr int kElements = 32, kBytes = 52;
  static constexpr int kScale = 0, kScaledSum = 4, kStart = 8, kStartLow = 12, kStartHigh = 16;
  static constexpr int kCodes = 20;
};

template <class Arch, class Codec>
struct Dot;

// Codes widened to 16 bits; lanes of the first and of the second half of the block are added one
// after the other.
template <class Codec>
struct Dot<Sse2, Codec> {
  using Lanes = __m128;
  struct Weights {
    __m128i w[4];
    __m128 scale[2];
  };
  struct Activations {
    __m128i a[4];
    __m128 scale;
  };

  static WEFT_INLINE Lanes zero() { return _mm_setzero_ps(); }
  static WEFT_INLINE Weights weights(Bytes<Sse2> codes, const float* scales) {
    if constexpr (Codec::kOffset != 0) codes = codes.minus(Codec::kOffset);
    Weights w;
    widen(codes, w.w);
    w.scale[0] = _mm_set1_ps(scales[0]);
    w.scale[1] = Codec::kTwoScales ? _mm_set1_ps(scales[1]) : w.scale[0];
    return w;
  }
  static WEFT_INLINE Activations activations(const std::byte* block) {
    Activations a;
    widen(Bytes<Sse2>::load(block + ActivationBlock::kCodes), a.a);
    a.scale = _mm_load1_ps(reinterpret_cast<const float*>(block));
    return a;
  }
  static WEFT_INLINE Lanes add(Lanes lanes, const Weights& w, const Activations& a) {
    for (int i = 0; i < 2; ++i) {
      const __m128i sum = _mm_add_epi32(_mm_madd_epi16(w.w[2 * i], a.a[2 * i]),
                                        _mm_madd_epi16(w.w[2 * i + 1], a.a[2 * i + 1]));
      lanes = _mm_add_ps(lanes, _mm_mul_ps(_mm_cvtepi32_ps(sum), _mm_mul_ps(w.scale[i], a.scale)));
    }
    return lanes;
  }
  static WEFT_INLINE Lanes subtract(Lanes lanes, const float* mins, const float* sums) {
    for (int i = 0; i < 8; i += 4)
      lanes = _mm_sub_ps(lanes, _mm_mul_ps(_mm_loadu_ps(mins + i), _mm_loadu_ps(sums + i)));
    return lanes;
  }
  static WEFT_INLINE void widen(Bytes<Sse2> b, __m128i (&out)[4]) {
    const __m128i zero = _mm_setzero_si128();
    out[0] = _mm_srai_epi16(_mm_unpacklo_epi8(zero, b.low), 8);
    out[1] = _mm_srai_epi16(_mm_unpackhi_epi8(zero, b.low), 8);
    out[2] = _mm_srai_epi16(_mm_unpacklo_epi8(zero, b.high), 8);
    out[3] = _mm_srai_epi16(_mm_unpackhi_epi8(zero, b.high), 8);
  }
};

#ifdef __AVX2__
// Eight lanes; lane i adds elements 4i .. 4i + 3.
struct EightLanes {
  using Lanes = __m256;
  static WEFT_INLINE Lanes zero() { return _mm256_setzero_ps(); }
  template <class Codec>
  static WEFT_INLINE __m256 scale(const float* scales) {
    if constexpr (Codec::kTwoScales)
      return _mm256_set_m128(_mm_broadcast_ss(scales + 1), _mm_broadcast_ss(scales));
    return _mm256_broadcast_ss(scales);
  }
  static WEFT_INLINE __m256 fused(__m256 lanes, __m256i sums, __m256 w_scale, __m256 a_scale) {
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums), _mm256_mul_ps(w_scale, a_scale), lanes);
  }
  static WEFT_INLINE Lanes subtract(Lanes lanes, const float* mins, const float* sums) {
    return _mm256_fnmadd_ps(_mm256_loadu_ps(mins), _mm256_loadu_ps(sums), lanes);
  }
};

// vpmaddubsw takes one operand without sign: |w|, and the sign of w moves to a. Pairs stay below 2
// * 128 * 127 < 2^15.
template <class Codec>
struct Dot<Avx2, Codec> : EightLanes {
  struct Weights {
    __m256i w, magnitude;
    __m256 scale;
  };
  struct Activations {
    __m256i a;
    __m256 scale;
  };
  static WEFT_INLINE Weights weights(Bytes<Avx2> codes, const float* scales) {
    if constexpr (Codec::kOffset != 0) codes = codes.minus(Codec::kOffset);
    return {codes.v, _mm256_abs_epi8(codes.v), scale<Codec>(scales)};
  }
  static WEFT_INLINE Activations activations(const std::byte* block) {
    return {Bytes<Avx2>::load(block + ActivationBlock::kCodes).v,
            _mm256_broadcast_ss(reinterpret_cast<const float*>(block))};
  }
  static WEFT_INLINE Lanes add(Lanes lanes, const Weights& w, const Activations& a) {
    constexpr bool kHasSign = Codec::kSigned || Codec::kOffset != 0;
    const __m256i pairs = kHasSign ? _mm256_maddubs_epi16(w.magnitude, _mm256_sign_epi8(a.a, w.w))
                                   : _mm256_maddubs_epi16(w.w, a.a);
    return fused(lanes, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)), w.scale, a.scale);
  }
};
#endif

#ifdef __AVX512BW__
// Codes widened to 16 bits in one register; lane i of 16 adds elements 2i and 2i + 1.
template <class Codec>
struct Dot<Avx512, Codec> {
  using Lanes = __m512;
  struct Weights {
    __m512i w;
    __m512 scale;
  };
  using Activations = Weights;

  static WEFT_INLINE Lanes zero() { return _mm512_setzero_ps(); }
  static WEFT_INLINE Weights weights(Bytes<Avx512> codes, const float* scales) {
    if constexpr (Codec::kOffset != 0) codes = codes.minus(Codec::kOffset);
    return {_mm512_cvtepi8_epi16(codes.v), scale(scales)};
  }
  static WEFT_INLINE __m512 scale(const float* scales) {
    if constexpr (!Codec::kTwoScales) return _mm512_set1_ps(*scales);
    return _mm512_insertf32x8(_mm512_set1_ps(scales[0]), _mm256_broadcast_ss(scales + 1), 1);
  }
  static WEFT_INLINE Activations activations(const std::byte* block) {
    return {_mm512_cvtepi8_epi16(Bytes<Avx512>::load(block + ActivationBlock::kCodes).v),
            _mm512_set1_ps(*reinterpret_cast<const float*>(block))};
  }
  static WEFT_INLINE Lanes add(Lanes lanes, const Weights& w, const Activations& a) {
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_madd_epi16(w.w, a.w)),
                           _mm512_mul_ps(w.scale, a.scale), lanes);
  }
  static WEFT_INLINE Lanes subtract(Lanes lanes, const float* mins, const float* sums) {
    return _mm512_fnmadd_ps(_mm512_zextps256_ps512(_mm256_loadu_ps(mins)),
                            _mm512_zextps256_ps512(_mm256_loadu_ps(sums)), lanes);
  }
};
#endif

#ifdef __AVX512VNNI__
// vpdpbusd takes weights without sign: signed codes are raised by 128, and the sums start at
// -offset * (sum of four activation codes).
template <class Codec>
struct Dot<Avx512Vnni, Codec> : EightLanes {
  static constexpr int kOffset = Codec::kSigned ? 128 : Codec::kOffset;
  struct Weights {
    __m256i w;
    __m256 scale;
  };
  struct Activations {
    __m256i a, start;
    __m256 scale;
  };
  static WEFT_INLINE Weights weights(Bytes<Avx512Vnni> codes, const float* scales) {
    if constexpr (Codec::kSigned) codes = codes.minus(128);
    return {codes.v, scale<Codec>(scales)};
  }
  static WEFT_INLINE Activations activations(const std::byte* block) {
    Activations a{Bytes<Avx512Vnni>::load(block + ActivationBlock::kCodes).v,
                  _mm256_setzero_si256(),
                  _mm256_broadcast_ss(reinterpret_cast<const float*>(block))};
    if constexpr (kOffset != 0) {
      const __m256i offset = _mm256_set1_epi8(static_cast<char>(kOffset));
      a.start = _mm256_sub_epi32(a.start, _mm256_dpbusd_epi32(a.start, offset, a.a));
    }
    return a;
  }
  static WEFT_INLINE Lanes add(Lanes lanes, const Weights& w, const Activations& a) {
    return fused(lanes, _mm256_dpbusd_epi32(a.start, w.w, a.a), w.scale, a.scale);
  }
};
#endif

}  // namespace weft::cpu
