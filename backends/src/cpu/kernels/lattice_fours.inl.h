#pragma once
// One token times 16 rows of points with 4 coordinates. 32 numbers of points are looked up at once
// in a table of words that stays in registers; coordinates and signs make nibbles, and those codes.
//
// `Codec` has
//   kPoints, numbers()  256 or 512 points, as words (ops/formats/iq_grids.h)
//   values()            what the 8 values of coordinates stand for, then those negated, plus 128
//   even(block)         words: bits 0-8 are the number of points 0, 2, 4, ...
//   odd(block)          and of points 1, 3, 5, ...; with 256 points these are bits 8-15 of even()
//   signs(block)        32 bytes, the signs of the coordinates

#include "cpu/kernels/lattice_rows.inl.h"

#ifdef __AVX512VNNI__

namespace weft::cpu {

template <class Arch, class C>
struct LatticeFours : LatticeRows<Arch, C> {
  using Base = LatticeRows<Arch, C>;
  using A = ActivationBlock;
  using Base::kRows, Base::kScales, Base::kSubs;
  using Rows = typename Base::Rows;
  using Scales = typename Base::Scales;
  static_assert(kScales == 1);
  static constexpr bool kHasOdd = C::kPoints > 256;

  // Of 8 rows, a qword of each, by sub-blocks.
  using Qwords = __m512i[kSubs];
  static WEFT_INLINE void turn(const __m512i (&rows)[8], Qwords& out) {
#pragma GCC unroll 2
    for (int odd = 0; odd < 2; ++odd) {
      __m512i v[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        v[i] = odd ? _mm512_unpackhi_epi64(rows[2 * i], rows[2 * i + 1])
                   : _mm512_unpacklo_epi64(rows[2 * i], rows[2 * i + 1]);
      }
      const __m512i a = _mm512_shuffle_i64x2(v[0], v[1], 0x44),
                    b = _mm512_shuffle_i64x2(v[0], v[1], 0xee),
                    c = _mm512_shuffle_i64x2(v[2], v[3], 0x44),
                    d = _mm512_shuffle_i64x2(v[2], v[3], 0xee);
      out[odd] = _mm512_shuffle_i64x2(a, c, 0x88);
      out[2 + odd] = _mm512_shuffle_i64x2(a, c, 0xdd);
      out[4 + odd] = _mm512_shuffle_i64x2(b, d, 0x88);
      out[6 + odd] = _mm512_shuffle_i64x2(b, d, 0xdd);
    }
  }

  // Slots 0-7 and 8-15 of a block.
  struct Block {
    Qwords even[2], odd[kHasOdd ? 2 : 1], signs[2];
    Scales scales;

    WEFT_INLINE void read(const Rows& rows) {
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        each(rows, i, even[i], [](const std::byte* block) { return C::even(block); });
        if constexpr (kHasOdd)
          each(rows, i, odd[i], [](const std::byte* block) { return C::odd(block); });
        each(rows, i, signs[i], [](const std::byte* block) { return spread(C::signs(block)); });
      }
      for (int r = 0; r < kRows; ++r) scales.put(r, rows.row(r));
      scales.turn();
    }
    template <class F>
    static WEFT_INLINE void each(const Rows& rows, int i, Qwords& out, F f) {
      __m512i v[8];
#pragma GCC unroll 8
      for (int s = 0; s < 8; ++s) v[s] = f(rows.row(Base::row_of(8 * i + s)));
      turn(v, out);
    }
    // Byte b to word b: bits 0 .. 5 are its own, bits 8 .. 13 its bits 2 .. 7.
    static WEFT_INLINE __m512i spread(__m256i signs) {
      const __m512i s = _mm512_cvtepu8_epi16(signs);
      return _mm512_or_si512(s, _mm512_slli_epi16(s, 6));
    }
  };

  // Words of the table, 64 in two vectors, by bits 0-5 of each number; then by the bits above.
  struct Table {
    __m512i words[C::kPoints / 32];

    WEFT_INLINE Table() {
#pragma GCC unroll 16
      for (int i = 0; i < C::kPoints / 32; ++i) words[i] = _mm512_load_si512(C::numbers() + 32 * i);
    }
    WEFT_INLINE __m512i look(__m512i numbers) const {
      return among<0, C::kPoints>(numbers);
    }
    template <int kFirst, int kCount>
    WEFT_INLINE __m512i among(__m512i numbers) const {
      if constexpr (kCount == 64) {
        return _mm512_permutex2var_epi16(words[kFirst / 32], numbers, words[kFirst / 32 + 1]);
      } else {
        const __mmask32 upper = _mm512_test_epi16_mask(numbers, _mm512_set1_epi16(kCount / 2));
        return _mm512_mask_mov_epi16(among<kFirst, kCount / 2>(numbers), upper,
                                     among<kFirst + kCount / 2, kCount / 2>(numbers));
      }
    }
  };

  // Bits 0-2 say which value, bit 3 the sign; bit 7 is clear.
  static WEFT_INLINE __m512i codes(__m512i values, __m512i signs) {
    const __m512i which = _mm512_set1_epi8(7);
    const __m512i nibbles = _mm512_ternarylogic_epi32(which, values, signs, 0xca);
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(C::values()), nibbles);
  }
  // Of 8 slots.
  static WEFT_INLINE __m512i dots(const Table& table, const Block& block, int i, int g,
                                  const std::int64_t (&acts)[4]) {
    const __m512i even = block.even[i][g], signs = block.signs[i][g];
    __m512i odd;
    if constexpr (kHasOdd) {
      odd = block.odd[i][g];
    } else {
      odd = _mm512_srli_epi16(even, 8);
    }
    const __m512i v = table.look(even), w = table.look(odd);
    const __m512i low = _mm512_and_si512(signs, _mm512_set1_epi8(0x03)),
                  high = _mm512_and_si512(signs, _mm512_set1_epi8(0x30));
    const __m512i all[] = {codes(v, _mm512_slli_epi16(low, 3)),
                           codes(_mm512_srli_epi16(v, 4), _mm512_slli_epi16(low, 2)),
                           codes(w, _mm512_srli_epi16(high, 1)),
                           codes(_mm512_srli_epi16(w, 4), _mm512_srli_epi16(high, 2))};
    __m512i sums = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p)
      sums = _mm512_dpbusd_epi32(sums, all[p], _mm512_set1_epi64(acts[p]));
    return sums;
  }
  // Activations in the order of codes: elements 0 and 2 of every eight; 1, 3; 4, 6; 5, 7.
  static WEFT_INLINE void order(const std::byte* x, std::int64_t (&acts)[4]) {
    const __m256i within = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15));
    const __m256i a = _mm256_shuffle_epi8(Bytes<Arch>::load(x + A::kCodes).v, within);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(acts),
                        _mm256_permutevar8x32_epi32(a, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
  }

  static __attribute__((noinline)) void run(const LinearArgs& a, std::int64_t t, std::int64_t c) {
    const Table table;
    __m512 acc = _mm512_setzero_ps();
    const std::byte* x = a.x + t * a.x_stride;
    Ahead<Arch> ahead(a, t, c, kRows);
    Rows rows(a, c);
    for (std::int64_t k = 0; k < a.k; k += C::kBlockElems, rows.next()) {
      ahead.template next<kRows * C::kBlockBytes>();
      Block block;
      block.read(rows);
      for (int g = 0; g < kSubs; ++g, x += A::kBytes) {
        alignas(32) std::int64_t acts[4];
        order(x, acts);
        const __m512i sums =
            Base::pairs(dots(table, block, 0, g, acts), dots(table, block, 1, g, acts));
        acc = Base::template add<7>(sums, block.scales.of(g), x, A::kStart, acc);
      }
    }
    Base::store(a, t, c, acc);
  }
};

}  // namespace weft::cpu

#endif
