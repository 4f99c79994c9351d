#pragma once
// IQ3_XXS: d (f16), 64 points of 8 bits, for each sub-block 28 bits of signs and a number of 4 bits
// for its scale (ops/formats/iq3_xxs.h).

#include "cpu/kernels/lattice/lattice_bytes.inl.h"
#include "cpu/kernels/lattice/lattice_codes.inl.h"
#include "cpu/kernels/lattice/lattice_fours.inl.h"
#include "cpu/kernels/weights/codec_iq.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, IQ3_XXSWeights> : IQCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 98, kGroups = 8, kCoordinates = 4;
  using Header = IQHeader<Arch, 8>;
  static WEFT_INLINE IQScales scales(const std::byte* block) {
    std::uint64_t numbers = 0;
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) numbers |= (byte(block, 69 + 4 * s) >> 4) << 4 * s;
    return {Simd<Arch>::f16(block) * 0.25f, numbers};
  }
  static WEFT_INLINE Header header(const std::byte* block) {
    return Header::odd(scales(block));
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int group) {
    std::int32_t points[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) points[i] = four(&kIQ3_XXSGrid, byte(block, 2 + 8 * group + i));
    return Lookup<Arch>::negate(Lookup<Arch>::fours(points),
                                Signs<Arch>::even(read<std::uint32_t>(block + 66 + 4 * group)));
  }
#ifdef __AVX2__
  using Taken = LatticeTaken;
  using Words = LatticeWords<Arch>;
  static WEFT_INLINE const void* grid() {
    return &kIQ3_XXSGrid;
  }
  static WEFT_INLINE void take(const std::byte* block, Taken& taken) {
#pragma GCC unroll 4
    for (int i = 0; i < 64; i += 16) Words::store(taken.points + i, Words::bytes_at(block + 2 + i));
    Words::store(taken.signs, Words::even_of_28(Bytes<Arch>::load(block + 66).v));
  }
#endif
#ifdef __AVX512VNNI__
  using OneToken = LatticeBytesOr<Arch, Codec, LatticeFours<Arch, Codec>>;
  static constexpr int kPoints = 256;
  static constexpr float kUnit = 0.25f;
  static WEFT_INLINE const std::uint16_t* numbers() {
    return reinterpret_cast<const std::uint16_t*>(&kIQ3_XXSNumbers);
  }
  static WEFT_INLINE __m128i values() {
    const __m128i all =
        _mm_setr_epi8(4, 12, 20, 28, 36, 44, 52, 62, -4, -12, -20, -28, -36, -44, -52, -62);
    return _mm_xor_si128(all, _mm_set1_epi8(-128));
  }
  static constexpr bool kSignsHaveSteps = true;
  static WEFT_INLINE __m512i low(const std::byte* block) {
    return _mm512_loadu_si512(block + 2);
  }
  static WEFT_INLINE __m256i signs(const std::byte* block) {
    return Bytes<Arch>::load(block + 66).v;
  }
  static constexpr bool kEvenFirst = true, kHasSigns = true;
  static WEFT_INLINE const std::byte* grid_bytes() {
    return reinterpret_cast<const std::byte*>(&kIQ3_XXSBytes);
  }
  static WEFT_INLINE __m512i numbers(const auto& block, int i, int g) {
    return block.dwords[2 * g + i];
  }
  static constexpr int kSigns = 66;
  static WEFT_INLINE __m512i signs(const auto& block, int g) {
    return even_of_28(block.signs[g]);
  }
  static WEFT_INLINE __m512i step_bits(const auto& block, int g) {
    return _mm512_srli_epi32(block.signs[g], 28);
  }
#endif
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

}  // namespace weft::cpu
