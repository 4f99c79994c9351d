#pragma once
// IQ3_S: d (f16), 64 points of 8 bits, their ninth bits, 256 signs, 8 numbers of 4 bits for scales
// (ops/formats/iq3_s.h).

#include "cpu/kernels/lattice/lattice_bytes.inl.h"
#include "cpu/kernels/lattice/lattice_codes.inl.h"
#include "cpu/kernels/lattice/lattice_fours.inl.h"
#include "cpu/kernels/weights/codec_iq.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, IQ3_SWeights> : IQCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 110, kGroups = 8, kCoordinates = 4;
  using Header = IQHeader<Arch, 8>;
  static WEFT_INLINE IQScales scales(const std::byte* block) {
    const auto numbers = read<std::uint32_t>(block + 106);
    return {Simd<Arch>::f16(block), numbers};
  }
  static WEFT_INLINE Header header(const std::byte* block) { return Header::odd(scales(block)); }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int group) {
    const unsigned ninths = byte(block, 66 + group);
    std::int32_t points[8];
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {
      points[i] = four(&kIQ3_SGrid, byte(block, 2 + 8 * group + i) | (ninths << (8 - i) & 0x100u));
    }
    return Lookup<Arch>::negate(Lookup<Arch>::fours(points),
                                read<std::uint32_t>(block + 74 + 4 * group));
  }
#ifdef __AVX2__
  using Taken = LatticeTaken;
  using Words = LatticeWords<Arch>;
  static WEFT_INLINE const void* grid() {
    return &kIQ3_SGrid;
  }
  static WEFT_INLINE void take(const std::byte* block, Taken& taken) {
    const __m256i bits =
        _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      // The bytes of two sub-blocks, in all words of 16 bytes each.
      const __m256i ninths =
          _mm256_shuffle_epi8(_mm256_set1_epi16(read<std::int16_t>(block + 66 + 2 * i)),
                              _mm256_setr_epi64x(0, 0, 0x0101010101010101, 0x0101010101010101));
      const __m256i set = _mm256_cmpeq_epi16(_mm256_and_si256(ninths, bits), bits);
      Words::store(taken.points + 16 * i,
                   _mm256_or_si256(Words::bytes_at(block + 2 + 16 * i),
                                   _mm256_and_si256(set, _mm256_set1_epi16(0x100))));
    }
    Words::store(taken.signs, Bytes<Arch>::load(block + 74).v);
  }
#endif
#ifdef __AVX512VNNI__
  using OneToken = LatticeBytesOr<Arch, Codec, LatticeFours<Arch, Codec>>;
  static constexpr int kPoints = 512;
  static constexpr float kUnit = 1;
  static WEFT_INLINE const std::uint16_t* numbers() {
    return reinterpret_cast<const std::uint16_t*>(&kIQ3_SNumbers);
  }
  static WEFT_INLINE __m128i values() {
    const __m128i all = _mm_setr_epi8(1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15);
    return _mm_xor_si128(all, _mm_set1_epi8(-128));
  }
  static constexpr bool kSignsHaveSteps = false;
  static WEFT_INLINE __m512i low(const std::byte* block) {
    return _mm512_loadu_si512(block + 2);
  }
  static WEFT_INLINE std::uint64_t ninths(const std::byte* block) {
    return read<std::uint64_t>(block + 66);
  }
  static WEFT_INLINE __m256i signs(const std::byte* block) {
    return Bytes<Arch>::load(block + 74).v;
  }
  static WEFT_INLINE std::uint32_t numbers_of(const std::byte* block) {
    return read<std::uint32_t>(block + 106);
  }
  static constexpr bool kEvenFirst = true, kHasSigns = true;
  static WEFT_INLINE const std::byte* grid_bytes() {
    return reinterpret_cast<const std::byte*>(&kIQ3_SBytes);
  }
  static WEFT_INLINE __m512i numbers(const auto& block, int i, int g) {
    return block.dwords[2 * g + i];
  }
  static constexpr int kSigns = 74;
  static constexpr int kTailDwords = 3, kTail[] = {66, 70, 106};
  template <class Highs>
  static WEFT_INLINE Highs highs(const auto& block, int i, int g) {
    const std::uint32_t bits = i == 0 ? 0x40100401 : 0x80200802;
    return {
        _mm512_test_epi8_mask(block.tail_byte(0, g), _mm512_set1_epi32(static_cast<int>(bits)))};
  }
  static WEFT_INLINE __m512i signs(const auto& block, int g) {
    return block.signs[g];
  }
  static WEFT_INLINE __m512i step_bits(const auto& block, int g) {
    return block.tail_number(2, g);
  }
#endif
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

}  // namespace weft::cpu
