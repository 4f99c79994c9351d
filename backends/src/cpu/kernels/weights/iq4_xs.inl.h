#pragma once
// IQ4_XS: d (f16), 8 numbers of 6 bits for scales, 128 bytes of nibbles; 16 bytes hold a sub-block,
// low ones first (ops/formats/iq4_xs.h).

#include "cpu/kernels/weights/codec_iq.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, IQ4_XSWeights> : IQCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 136, kGroups = 8;
  using Header = IQHeader<Arch, 8>;
  static WEFT_INLINE Header header(const std::byte* block) {
    const float d = Simd<Arch>::f16(block);
    const unsigned high = read<std::uint16_t>(block + 2), low = read<std::uint32_t>(block + 4);
    Header h;
    if constexpr (Simd<Arch>::kLanes >= 8) {
#ifdef __AVX2__
      const __m256i twos = _mm256_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14);
      const __m256i highs = _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(high)), twos);
      const __m256i lows =
          _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int>(low)), _mm256_slli_epi32(twos, 1));
      const __m256i n =
          _mm256_or_si256(_mm256_and_si256(lows, _mm256_set1_epi32(15)),
                          _mm256_slli_epi32(_mm256_and_si256(highs, _mm256_set1_epi32(3)), 4));
      const __m256 step = _mm256_cvtepi32_ps(_mm256_sub_epi32(n, _mm256_set1_epi32(32)));
      _mm256_storeu_ps(h.scales, _mm256_mul_ps(step, _mm256_set1_ps(d)));
#endif
    } else {
      for (int s = 0; s < 8; ++s) {
        const unsigned n = (low >> 4 * s & 15) | (high >> 2 * s & 3) << 4;
        h.scales[s] = d * static_cast<float>(static_cast<int>(n) - 32);
      }
    }
    return h;
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int group) {
    return Lookup<Arch>::template sixteens<kIQ4Values>(
        Bytes<Arch>::load_nibbles(block + 8 + 16 * group));
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

#ifdef WEFT_SIXTEEN
// Units: d with the high bits of the numbers, their low bits, eight times four of nibbles.
template <class Arch>
struct PanelCodec<Arch, IQ4_XSWeights> : IQ4Panel<Arch> {
  using P = PanelCodecBase<Arch>;
  using typename P::S, typename P::Words, typename P::Floats;
  static constexpr int kSubs = 8, kUnits = 34, kGroups = 8;
  static constexpr bool kHasHalves = false;

  static WEFT_INLINE void header(const std::byte* block, const std::byte*, Floats* scales,
                                 Floats*) {
    const Words first = P::unit(block, 0), low = P::unit(block, 1);
    const Floats d = P::low_halves(first);
    const Words high = S::right32(first, 16);
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) {
      const Words lows = S::right32(low, 4 * s) & S::all32(15);
      const Words highs = (s < 2 ? S::left32(high, 4 - 2 * s) : S::right32(high, 2 * s - 4));
      const Words n = lows | (highs & S::all32(48));
      scales[s] = S::to_floats(S::add32(n, S::all32(-32))) * d;
    }
  }
  static WEFT_INLINE void codes(const std::byte* block, int group, int i, Words (&out)[1]) {
    const Words bytes = P::unit(block, 2 + 4 * group + i % 4);
    out[0] = IQ4Panel<Arch>::raised(P::nibbles(bytes, i / 4));
  }
};
#endif

}  // namespace weft::cpu
