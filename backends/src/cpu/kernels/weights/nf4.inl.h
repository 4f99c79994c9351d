#pragma once
// NF4: d (f16), 32 bytes of nibbles: low ones first (ops/formats/nf4.h). Their values are not
// multiples of a common scale, so they are decoded to floats.

#include "weft/ops/formats/nf4.h"

#include "cpu/kernels/linear/codec.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, NF4Weights> : TableCodec {
  using V = typename Simd<Arch>::V;
  static constexpr int kLanes = Simd<Arch>::kLanes;
  static constexpr int kBlockElems = 64, kBlockBytes = 34;

  // Elements i .. i + kLanes - 1 of a block.
  static WEFT_INLINE V values(const std::byte* block, int i) {
    const V d(Simd<Arch>::f16(block));
    return looked_up(block + 2 + i % 32, i < 32 ? 0 : 4) * d;
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    const std::byte* block = row + begin / kBlockElems * kBlockBytes;
    for (std::int64_t k = begin; k < end; k += kBlockElems, block += kBlockBytes) {
      for (int i = 0; i < kBlockElems; i += kLanes, out += kLanes)
        values(block, i).store_unaligned(out);
    }
  }

 private:
  // The values of the nibbles at bit `shift` of kLanes bytes.
  static WEFT_INLINE V looked_up(const std::byte* bytes, int shift) {
    const float* table = NF4::kValues;
    if constexpr (kLanes == 16) {
#ifdef __AVX512F__
      const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
      const __m512i wide = _mm512_cvtepu8_epi32(b);  // the lookup takes the low four bits
      return _mm512_permutexvar_ps(shift == 0 ? wide : _mm512_srli_epi32(wide, 4),
                                   _mm512_loadu_ps(table));
#endif
    } else if constexpr (kLanes == 8) {
#ifdef __AVX2__
      const __m128i b = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes));
      const __m256i wide = _mm256_cvtepu8_epi32(b);
      const __m256i code = shift == 0 ? wide : _mm256_srli_epi32(wide, 4);  // low three bits count
      const __m256 below = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), code);
      const __m256 above = _mm256_permutevar8x32_ps(_mm256_loadu_ps(table + 8), code);
      return _mm256_blendv_ps(below, above, _mm256_castsi256_ps(_mm256_slli_epi32(code, 28)));
#endif
    } else {
      alignas(16) float out[4];
      for (int i = 0; i < 4; ++i) out[i] = table[static_cast<int>(bytes[i]) >> shift & 15];
      return V::load_aligned(out);
    }
  }
};

}  // namespace weft::cpu
