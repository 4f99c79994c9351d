#pragma once
// One token times 16 rows of points with 8 coordinates. A vector takes the same point of 8 rows,
// by one load from the grid for each.
//
// `Codec` has
//   table()                      the grid
//   points(block)                32 words, their numbers
//   signs(block)                 32 bytes, the signs of their coordinates
//   steps(block)                 bytes, one for each scale
//   kRaised                      codes have an offset of 2 to this power; 0: none
//   add(dots, points, signs, x)  dots + (codes * activations)

#include "cpu/kernels/lattice/lattice_rows.inl.h"

#ifdef __AVX512VNNI__

namespace weft::cpu {

template <class Arch, class C>
struct LatticeEights : LatticeRows<Arch, C> {
  using Base = LatticeRows<Arch, C>;
  using A = ActivationBlock;
  using Base::kRows, Base::kScales, Base::kSubs;
  using Rows = typename Base::Rows;

  struct Block {
    alignas(64) std::uint16_t points[kRows][32];
    typename Base::template Columns<32> signs;
    typename Base::template Columns<kSubs * kScales> steps;
    typename Base::Halves halves;
    __m512 units;

    WEFT_INLINE void read(const Rows& rows, int slot) {
      const std::byte* block = rows.slot(slot);
      _mm512_store_si512(points[slot], C::points(block));
      const __m256i s = C::signs(block);
      signs.put(slot, 0, _mm256_castsi256_si128(s));
      signs.put(slot, 1, _mm256_extracti128_si256(s, 1));
      steps.put(Base::row_of(slot), 0, C::steps(block));
      halves.put(slot, block);
    }
    WEFT_INLINE void read(const Rows& rows) {
#pragma GCC unroll 16
      for (int s = 0; s < kRows; ++s) read(rows, s);
      signs.turn();
      steps.turn();
      units = halves.units();
    }
    WEFT_INLINE __m512 scale(int i) const {
      const __m128i step = _mm_load_si128(reinterpret_cast<const __m128i*>(steps.bytes[i]));
      return _mm512_mul_ps(units, _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(step)));
    }

    WEFT_INLINE __m128i pair(const std::byte* grid, int slot, int p) const {
      const auto at = [&](int s) __attribute__((always_inline)) {
        return grid + 8 * std::uint64_t{points[s][p]};
      };
      const __m128i one = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at(slot)));
      return _mm_castps_si128(
          _mm_loadh_pi(_mm_castsi128_ps(one), reinterpret_cast<const __m64*>(at(slot + 1))));
    }
    // Point p of 8 slots, and the signs of its coordinates.
    WEFT_INLINE __m512i eight(const std::byte* grid, int slot, int p) const {
      const __m256i low = _mm256_set_m128i(pair(grid, slot + 2, p), pair(grid, slot, p));
      const __m256i high = _mm256_set_m128i(pair(grid, slot + 6, p), pair(grid, slot + 4, p));
      return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
    }
    WEFT_INLINE __mmask64 signs_of(int slot, int p) const {
      return C::template read<std::uint64_t>(&signs.bytes[p][slot]);
    }
  };

  // Sub-block g.
  static WEFT_INLINE __m512 add(const std::byte* grid, const Block& block, int g,
                                const std::byte* x, __m512 acc) {
    __m512i dots[2][2] = {};  // products by slots (0-7, 8-15) and half of the sub-block
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) {
      const __m512i acts = _mm512_set1_epi64(C::template read<std::int64_t>(x + A::kCodes + 8 * p));
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        __m512i& sums = dots[i][p / 2];
        sums = C::add(sums, block.eight(grid, 8 * i, 4 * g + p), block.signs_of(8 * i, 4 * g + p),
                      acts);
      }
    }
    if constexpr (kScales == 1) {
      const __m512i sums = Base::pairs(_mm512_add_epi32(dots[0][0], dots[0][1]),
                                       _mm512_add_epi32(dots[1][0], dots[1][1]));
      return Base::template add<C::kRaised>(sums, block.scale(g), x, A::kStart, acc);
    }
    const __m512i first = Base::pairs(dots[0][0], dots[1][0]),
                  second = Base::pairs(dots[0][1], dots[1][1]);
    acc = Base::template add<C::kRaised>(first, block.scale(2 * g), x, A::kStartLow, acc);
    return Base::template add<C::kRaised>(second, block.scale(2 * g + 1), x, A::kStartHigh, acc);
  }

  static __attribute__((noinline)) void run(const LinearArgs& a, std::int64_t t, std::int64_t c) {
    const std::byte* grid = C::table();
    __m512 acc = _mm512_setzero_ps();
    const std::byte* x = a.x + t * a.x_stride;
    Ahead<Arch> ahead(a, t, c, kRows);
    Rows rows(a, c);
    for (std::int64_t k = 0; k < a.k; k += C::kBlockElems, rows.next()) {
      ahead.template next<kRows * C::kBlockBytes>();
      Block block;
      block.read(rows);
      for (int g = 0; g < kSubs; ++g, x += A::kBytes) acc = add(grid, block, g, x, acc);
    }
    Base::store(a, t, c, acc);
  }
};

}  // namespace weft::cpu

#endif
