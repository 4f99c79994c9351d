#pragma once
// One token times 16 rows of points with 4 coordinates. 32 points are looked up at once in a table
// of words that stays in registers. Coordinates and signs form nibbles, which index the codes.
//
// `Codec` has
//   kPoints, numbers()  256 or 512 points, as words (ops/formats/iq_grids.h)
//   values()            the 8 values of coordinates, then those negated, plus 128
//   low(block)          64 bytes, the low 8 bits of the indices of points
//   ninths(block)       a word of their ninth bits, if there are 512 points
//   signs(block)        32 bytes: a dword of the signs of each sub-block
//   kSignsHaveSteps     28 of these bits are signs, the upper 4 are the code of a scale; otherwise
//   numbers_of(block)   gives 8 codes of 4 bits for scales

#include "cpu/kernels/lattice/lattice_rows.inl.h"

#ifdef __AVX512VNNI__

namespace weft::cpu {

template <class Arch, class C>
struct LatticeFours : LatticeRows<Arch, C> {
  using Base = LatticeRows<Arch, C>;
  using A = ActivationBlock;
  using Base::kRows, Base::kScales, Base::kSubs;
  using Rows = typename Base::Rows;
  static_assert(kScales == 1);
  static constexpr bool kHasNinths = C::kPoints > 256;

  // A qword of each of 8 rows, by sub-block.
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

  // A dword of each of 16 slots, by sub-block. Vector i of the input holds those of the slots i and
  // i + 4 for i < 4, and i + 4 and i + 8 otherwise.
  static WEFT_INLINE void turn_dwords(const __m512i (&v)[8], __m512i (&out)[kSubs]) {
    __m512i w[2][4];
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const __m512i* from = v + 4 * i;
      const __m512i a = _mm512_unpacklo_epi32(from[0], from[1]),
                    b = _mm512_unpackhi_epi32(from[0], from[1]),
                    c = _mm512_unpacklo_epi32(from[2], from[3]),
                    d = _mm512_unpackhi_epi32(from[2], from[3]);
      w[i][0] = _mm512_unpacklo_epi64(a, c);
      w[i][1] = _mm512_unpackhi_epi64(a, c);
      w[i][2] = _mm512_unpacklo_epi64(b, d);
      w[i][3] = _mm512_unpackhi_epi64(b, d);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      out[i] = _mm512_shuffle_i64x2(w[0][i], w[1][i], 0x88);
      out[4 + i] = _mm512_shuffle_i64x2(w[0][i], w[1][i], 0xdd);
    }
  }

  // Slots 0-7 and 8-15 of a block.
  struct Block {
    Qwords low[2];
    __m512i signs[kSubs];
    std::uint64_t ninths[kHasNinths ? kRows : 1];
    std::uint32_t numbers[C::kSignsHaveSteps ? 1 : kRows];
    typename Base::Halves halves;

    WEFT_INLINE void read(const Rows& rows) {
      __m512i v[8];
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
#pragma GCC unroll 8
        for (int s = 0; s < 8; ++s) v[s] = C::low(rows.slot(8 * i + s));
        turn(v, low[i]);
      }
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) {
        const int s = i < 4 ? i : i + 4;
        v[i] = _mm512_inserti64x4(_mm512_castsi256_si512(C::signs(rows.slot(s))),
                                  C::signs(rows.slot(s + 4)), 1);
      }
      turn_dwords(v, signs);
#pragma GCC unroll 16
      for (int s = 0; s < kRows; ++s) {
        halves.put(s, rows.slot(s));
        if constexpr (kHasNinths) ninths[s] = C::ninths(rows.slot(s));
        if constexpr (!C::kSignsHaveSteps) numbers[Base::row_of(s)] = C::numbers_of(rows.slot(s));
      }
    }
    // Scales of sub-block g, divided by units.
    WEFT_INLINE __m512 steps(int g) const {
      const __m512i bits = _mm512_set1_epi32(30), one = _mm512_set1_epi32(1);
      if constexpr (C::kSignsHaveSteps) {
        const __m512i slots =
            _mm512_setr_epi32(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15);
        const __m512i n = _mm512_permutexvar_epi32(slots, _mm512_srli_epi32(signs[g], 27));
        return _mm512_cvtepi32_ps(_mm512_ternarylogic_epi32(bits, n, one, 0xea));
      } else {
        const __m512i n = _mm512_srl_epi32(_mm512_loadu_si512(numbers), _mm_cvtsi32_si128(4 * g));
        return _mm512_cvtepi32_ps(
            _mm512_ternarylogic_epi32(bits, _mm512_slli_epi32(n, 1), one, 0xea));
      }
    }
  };

  // Words of the table, 64 in two vectors, by bits 0-5 of each number; then by the bits above.
  struct Table {
    __m512i words[C::kPoints / 32];

    WEFT_INLINE Table() {
#pragma GCC unroll 16
      for (int i = 0; i < C::kPoints / 32; ++i) words[i] = _mm512_load_si512(C::numbers() + 32 * i);
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
    WEFT_INLINE __m512i look(__m512i numbers, [[maybe_unused]] __mmask32 ninth) const {
      if constexpr (kHasNinths) {
        return _mm512_mask_mov_epi16(among<0, 256>(numbers), ninth, among<256, 256>(numbers));
      } else {
        return among<0, 256>(numbers);
      }
    }
  };

  // Bits 0-2 say which value, bit 3 is the sign. Bit 7, which must be clear, is so in `values`.
  static WEFT_INLINE __m512i codes(__m512i values, __m512i signs) {
    const __m512i which = _mm512_set1_epi8(static_cast<char>(0x87));
    const __m512i nibbles = _mm512_ternarylogic_epi32(which, values, signs, 0xca);
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(C::values()), nibbles);
  }
  // The products of 8 slots. Points 0, 2, 4 and 6 of each are the low bytes of its words, the
  // others the high ones.
  static WEFT_INLINE __m512i dots(const Table& table, const Block& block, int i, int g,
                                  __m256i sign_bytes, const std::int64_t (&acts)[4]) {
    const __m512i low = block.low[i][g];
    __mmask32 even = 0, odd = 0;
    if constexpr (kHasNinths) {
      // The byte of the sub-block in all eight places.
      const __m512i at =
          _mm512_add_epi8(_mm512_broadcast_i32x4(_mm_set_epi64x(0x0808080808080808, 0)),
                          _mm512_set1_epi8(static_cast<char>(g)));
      const __m512i bits = _mm512_shuffle_epi8(_mm512_loadu_si512(block.ninths + 8 * i), at);
      even = _mm512_test_epi16_mask(bits, _mm512_set1_epi64(0x0040001000040001));
      odd = _mm512_test_epi16_mask(bits, _mm512_set1_epi64(0x0080002000080002));
    }
    const __m512i v = table.look(low, even), w = table.look(_mm512_srli_epi16(low, 8), odd);
    // Byte b becomes word b: bits 0 .. 5 are its own, bits 8 .. 13 its bits 2 .. 7.
    const __m512i s = _mm512_cvtepu8_epi16(sign_bytes);
    const __m512i signs = _mm512_or_si512(s, _mm512_slli_epi16(s, 6));
    const __m512i all[] = {codes(v, _mm512_slli_epi16(signs, 3)),
                           codes(_mm512_srli_epi16(v, 4), _mm512_slli_epi16(signs, 2)),
                           codes(w, _mm512_srli_epi16(signs, 1)),
                           codes(_mm512_srli_epi16(w, 4), _mm512_srli_epi16(signs, 2))};
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
      const __m512 units = block.halves.units();
      for (int g = 0; g < kSubs; ++g, x += A::kBytes) {
        alignas(32) std::int64_t acts[4];
        order(x, acts);
        __m512i signs = block.signs[g];
        if constexpr (C::kSignsHaveSteps) signs = C::even_of_28(signs);
        const __m512i sums =
            Base::pairs(dots(table, block, 0, g, _mm512_castsi512_si256(signs), acts),
                        dots(table, block, 1, g, _mm512_extracti64x4_epi64(signs, 1), acts));
        const __m512 scale = _mm512_mul_ps(units, block.steps(g));
        acc = Base::template add<7>(sums, scale, x, A::kStart, acc);
      }
    }
    Base::store(a, t, c, acc);
  }
};

}  // namespace weft::cpu

#endif
