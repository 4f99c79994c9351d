#pragma once
// Loads keys into registers, some elements of kLanes cells at a time: r[c] = element i + c of the
// cells, without the scale of their block. Either squares of kLanes elements are transposed by
// shuffles, or, with AVX-512, quads: each load fills a quarter of a vector, so that only a 4 x 4
// transposition is left. It needs half the shuffles, which overlap with the use of the last quad.

#include "cpu/kernels/attention/attention_cells.inl.h"
#include "cpu/simd/transpose.inl.h"

namespace weft::cpu {

template <class Arch, class Cells>
struct KeyQuads {
  static constexpr int kElements = 0;  // has none
};

#ifdef __AVX512BW__
// Quarter l of a vector: the elements i .. i + 3 of the cell 4 * l cells after `cell`.
template <class Arch>
struct QuadLoads {
  template <class Load>
  static WEFT_INLINE __m256i of_8_bytes(const std::byte* p, std::int64_t four_cells, Load load) {
    __m256i v = _mm256_castsi128_si256(load(p));
    v = _mm256_mask_broadcastq_epi64(v, 2, load(p + four_cells));
    v = _mm256_mask_broadcastq_epi64(v, 4, load(p + 2 * four_cells));
    return _mm256_mask_broadcastq_epi64(v, 8, load(p + 3 * four_cells));
  }
  template <class Load>
  static WEFT_INLINE __m128i of_4_bytes(const std::byte* p, std::int64_t four_cells, Load load) {
    __m128i v = load(p);
    v = _mm_mask_broadcastd_epi32(v, 2, load(p + four_cells));
    v = _mm_mask_broadcastd_epi32(v, 4, load(p + 2 * four_cells));
    return _mm_mask_broadcastd_epi32(v, 8, load(p + 3 * four_cells));
  }
  static WEFT_INLINE __m128i load_8(const std::byte* p) {
    return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  }
  static WEFT_INLINE __m128i load_4(const std::byte* p) { return _mm_loadu_si32(p); }

  static WEFT_INLINE __m512 load(CellsF32<Arch>, const std::byte* cell, std::int64_t four_cells,
                                 std::int64_t i) {
    const auto at = [&](int n) __attribute__((always_inline)) {
      return _mm_loadu_ps(reinterpret_cast<const float*>(cell + n * four_cells) + i);
    };
    __m512 v = _mm512_castps128_ps512(at(0));
    v = _mm512_mask_broadcast_f32x4(v, 0x00f0, at(1));
    v = _mm512_mask_broadcast_f32x4(v, 0x0f00, at(2));
    return _mm512_mask_broadcast_f32x4(v, 0xf000, at(3));
  }
  static WEFT_INLINE __m512 load(CellsF16<Arch>, const std::byte* cell, std::int64_t four_cells,
                                 std::int64_t i) {
    return _mm512_cvtph_ps(of_8_bytes(cell + 2 * i, four_cells, load_8));
  }
  static WEFT_INLINE __m512 load(CellsQ8_0<Arch>, const std::byte* cell, std::int64_t four_cells,
                                 std::int64_t i) {
    const __m128i codes = of_4_bytes(cell + i / 32 * 34 + 2 + i % 32, four_cells, load_4);
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(codes));
  }
  static WEFT_INLINE __m512 load(CellsQ4_0<Arch>, const std::byte* cell, std::int64_t four_cells,
                                 std::int64_t i) {
    const __m128i pairs = of_4_bytes(cell + i / 32 * 18 + 2 + i % 16, four_cells, load_4);
    const __m512i wide = _mm512_cvtepu8_epi32(pairs);
    const __m512i moved = i % 32 >= 16 ? _mm512_srli_epi32(wide, 4) : wide;
    const __m512i codes = _mm512_and_si512(moved, _mm512_set1_epi32(15));
    return _mm512_cvtepi32_ps(_mm512_sub_epi32(codes, _mm512_set1_epi32(8)));
  }
  static WEFT_INLINE __m512 load(CellsQ5_0<Arch>, const std::byte* cell, std::int64_t four_cells,
                                 std::int64_t i) {
    const std::byte* block = cell + i / 32 * 22;
    const __m512i wide = _mm512_cvtepu8_epi32(of_4_bytes(block + 6 + i % 16, four_cells, load_4));
    const __m512i moved = i % 32 >= 16 ? _mm512_srli_epi32(wide, 4) : wide;
    const __m512i low = _mm512_and_si512(moved, _mm512_set1_epi32(15));
    std::uint32_t fifth = 0;
#pragma GCC unroll 4
    for (int n = 0; n < 4; ++n) {
      std::uint32_t high;
      std::memcpy(&high, block + n * four_cells + 2, sizeof(high));
      fifth |= (high >> i % 32 & 15) << 4 * n;
    }
    const __m512i offset = _mm512_set1_epi32(-16);
    const auto has_fifth = static_cast<__mmask16>(fifth);
    return _mm512_cvtepi32_ps(
        _mm512_mask_add_epi32(low, static_cast<__mmask16>(~has_fifth), low, offset));
  }
};

template <class Arch, class Cells>
requires(Simd<Arch>::kLanes == 16 && !Cells::kHasMin) struct KeyQuads<Arch, Cells> {
  using V = typename Simd<Arch>::V;
  static constexpr int kElements = 4;

  static WEFT_INLINE void load(const std::byte* cell, std::int64_t stride, std::int64_t i,
                               V (&r)[4]) {
#pragma GCC unroll 4
    for (int c = 0; c < 4; ++c)
      r[c] = QuadLoads<Arch>::load(Cells(), cell + c * stride, 4 * stride, i);
    TransposeQuarters<Arch>::run(r[0], r[1], r[2], r[3]);
  }

  // For the blocks that hold element i of the cells.
  static WEFT_INLINE V scales(const std::byte* cell, std::int64_t stride, std::int64_t i) {
    const auto four = [&](int c) __attribute__((always_inline)) {
      const std::byte* block = cell + 4 * c * stride + i / 32 * Cells::kBlockBytes;
      return QuadLoads<Arch>::of_4_bytes(block, stride, QuadLoads<Arch>::load_4);
    };
    const __m512i all =
        _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_set_m128i(four(1), four(0))),
                           _mm256_set_m128i(four(3), four(2)), 1);
    return V(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(all)));
  }
};

#endif

#ifdef WEFT_SIXTEEN
// Attention with integer products: code shared by scores and values. Caches are blocks of 32 codes
// after a scale of 16 bits (Q8_0, Q5_0, Q4_0). Blocks of 64 cells always exist as a whole: cells
// after the last one are read, and their contents are ignored.
template <class Arch>
struct AttentionCodes {
  using S = Sixteen<Arch>;
  using Floats = typename S::Floats;
  static constexpr std::int64_t kLanes = 16, kBlock = 32, kCells = AttentionKernels::kCells;

  // scale[b][s] for whole vectors of cells up to n; `cells` has room for whole blocks.
  template <class Cells>
  static WEFT_INLINE void all_scales(const std::byte* cells, std::int64_t cell, std::int64_t n,
                                     std::int64_t e, float* scale) {
    for (std::int64_t b = 0; b < e / kBlock; ++b) {
      const std::byte* block = cells + b * Cells::kBlockBytes;
      for (std::int64_t s = 0; s < n; s += kLanes)
        S::store(scale + b * kCells + s, scales<Cells>(block + s * cell, cell));
    }
  }
  // The scales of 16 cells.
  template <class Cells>
  static WEFT_INLINE Floats scales(const std::byte* block, std::int64_t cell) {
    if constexpr (Simd<Arch>::kLanes == 16) {
      return KeyQuads<Arch, Cells>::scales(block, cell, 0);
    } else {
      alignas(32) std::byte halves[2 * kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) std::memcpy(halves + 2 * i, block + i * cell, 2);
      return S::load_f16(halves);
    }
  }
};
#endif

}  // namespace weft::cpu
