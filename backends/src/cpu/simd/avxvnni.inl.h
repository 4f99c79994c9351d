#pragma once
// Traits of AVX2 with VNNI, and what it shares with AVX-512.

#if defined(__AVXVNNI__) || defined(__AVX512VNNI__)

#include <immintrin.h>
#include <xsimd/xsimd.hpp>

namespace weft::cpu {

// vpdpbusd takes unsigned weights: signed codes get an offset of 128, and the sums start at
// -offset * (sum of four activation codes).
template <class Arch, class Codec>
struct VnniDot : EightLanes {
  static constexpr int kOffset = Codec::kSigned ? 128 : Codec::kOffset;
  static WEFT_INLINE __m256i dot(__m256i sums, __m256i w, __m256i a) {
#ifdef __AVX512VNNI__
    return _mm256_dpbusd_epi32(sums, w, a);
#else
    return _mm256_dpbusd_avx_epi32(sums, w, a);
#endif
  }
  struct Weights {
    __m256i w;
    __m256 scale;
  };
  struct Activations {
    __m256i a, start;
    __m256 scale;
  };
  static WEFT_INLINE Weights weights(Bytes<Arch> codes, const float* scales) {
    if constexpr (Codec::kSigned) codes = codes.minus(128);
    return {codes.v, scale<Codec>(scales)};
  }
  static WEFT_INLINE Activations activations(const std::byte* block) {
    Activations a{Bytes<Arch>::load(block + ActivationBlock::kCodes).v, _mm256_setzero_si256(),
                  _mm256_broadcast_ss(reinterpret_cast<const float*>(block))};
    if constexpr (kOffset != 0) {
      const __m256i offset = _mm256_set1_epi8(static_cast<char>(kOffset));
      a.start = _mm256_sub_epi32(a.start, dot(a.start, offset, a.a));
    }
    return a;
  }
  static WEFT_INLINE Lanes add(Lanes lanes, const Weights& w, const Activations& a) {
    return fused(lanes, dot(a.start, w.w, a.a), w.scale, a.scale);
  }
};

template <class Arch, class Codec>
struct Dot<Arch, Codec, AvxVnni> : VnniDot<Arch, Codec> {};

}  // namespace weft::cpu

#endif
