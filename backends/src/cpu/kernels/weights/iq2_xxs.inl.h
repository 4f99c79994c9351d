#pragma once
// IQ2_XXS: d (f16), for each sub-block 4 points of 8 bits, 28 bits of signs and a number of 4 bits
// for its scale (ops/formats/iq2_xxs.h).

#include "cpu/kernels/lattice/lattice_bytes.inl.h"
#include "cpu/kernels/lattice/lattice_codes.inl.h"
#include "cpu/kernels/lattice/lattice_eights.inl.h"
#include "cpu/kernels/weights/codec_iq.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, IQ2_XXSWeights> : IQCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 66, kGroups = 8, kCoordinates = 8;
  using Header = IQHeader<Arch, 8>;
  static WEFT_INLINE IQScales scales(const std::byte* block) {
    std::uint64_t numbers = 0;
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) numbers |= (byte(block, 9 + 8 * s) >> 4) << 4 * s;
    return {Simd<Arch>::f16(block) * 0.125f, numbers};
  }
  static WEFT_INLINE Header header(const std::byte* block) {
    return Header::odd(scales(block));
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int group) {
    const std::byte* sub = block + 2 + 8 * group;
    return Lookup<Arch>::negate(
        Lookup<Arch>::eights(eight(&kIQ2_XXSGrid, byte(sub, 0)), eight(&kIQ2_XXSGrid, byte(sub, 1)),
                             eight(&kIQ2_XXSGrid, byte(sub, 2)),
                             eight(&kIQ2_XXSGrid, byte(sub, 3))),
        Signs<Arch>::even(read<std::uint32_t>(sub + 4)));
  }
#ifdef __AVX2__
  using Taken = LatticeTaken;
  using Words = LatticeWords<Arch>;
  static WEFT_INLINE const void* grid() {
    return &kIQ2_XXSGrid;
  }
  static WEFT_INLINE void take(const std::byte* block, Taken& taken) {
    const __m256i a = Bytes<Arch>::load(block + 2).v, b = Bytes<Arch>::load(block + 34).v;
    // Words: the points of two sub-blocks, then 8 bytes of signs, by 16 bytes; and dwords.
    const __m256i low = _mm256_setr_epi8(0, -1, 1, -1, 2, -1, 3, -1, 8, -1, 9, -1, 10, -1, 11, -1,
                                         0, -1, 1, -1, 2, -1, 3, -1, 8, -1, 9, -1, 10, -1, 11, -1);
    Words::store(taken.points, _mm256_shuffle_epi8(a, low));
    Words::store(taken.points + 16, _mm256_shuffle_epi8(b, low));
    const __m256 odd = _mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0xdd);
    const __m256i dwords = _mm256_permute4x64_epi64(_mm256_castps_si256(odd), 0xd8);
    Words::store(taken.signs, Words::even_of_28(dwords));
  }
#endif
#ifdef __AVX512VNNI__
  using OneToken = LatticeBytesOr<Arch, Codec, LatticeEights<Arch, Codec>>;
  static constexpr int kRaised = 0;
  static constexpr float kUnit = 0.125f;
  static WEFT_INLINE const std::byte* table() {
    return reinterpret_cast<const std::byte*>(&kIQ2_XXSGrid);
  }
  static WEFT_INLINE __m512i points(const std::byte* block) {
    const __m128i low = _mm_setr_epi8(0, -1, 1, -1, 2, -1, 3, -1, 8, -1, 9, -1, 10, -1, 11, -1);
    return _mm512_shuffle_epi8(_mm512_loadu_si512(block + 2), _mm512_broadcast_i32x4(low));
  }
  // For each sub-block, 28 bits of signs and above them the number of its scale.
  static WEFT_INLINE __m256i upper(const std::byte* block) {
    return _mm512_cvtepi64_epi32(_mm512_srli_epi64(_mm512_loadu_si512(block + 2), 32));
  }
  static WEFT_INLINE __m256i signs(const std::byte* block) {
    return even_of_28(upper(block));
  }
  static WEFT_INLINE __m128i steps(const std::byte* block) {
    return odd_of_high(upper(block));
  }
  static WEFT_INLINE const std::byte* grid_bytes() {
    return reinterpret_cast<const std::byte*>(&kIQ2_XXSBytes);
  }
  static WEFT_INLINE __m128i values() {
    return iq2_values();
  }
  static constexpr int kPoints = 256;
  static WEFT_INLINE __m512i numbers(const auto& block, int, int g) {
    return block.dwords[2 * g];
  }
  static WEFT_INLINE __m512i signs(const auto& block, int g) {
    return even_of_28(block.dwords[2 * g + 1]);
  }
  static WEFT_INLINE __m512i step_bits(const auto& block, int g) {
    return _mm512_srli_epi32(block.dwords[2 * g + 1], 28);
  }
#endif
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

}  // namespace weft::cpu
