#pragma once
// One token times 16 rows of points of IQ2 or IQ3, with VBMI. 64 points, four of each row, are
// looked up at once, in tables of bytes (ops/formats/iq_grid_bytes.h). Tables of up to 512 points
// stay in registers. Coordinates from a table, together with signs, are the index of a code.
// Every vector holds a dword of each of 16 rows.
//
// `Codec` has
//   kPoints, grid_bytes()  the tables
//   kCoordinates           8 or 4
//   values()               codes plus 128: of 8 values, then of those negated; of IQ2 the first 3
//   kEvenFirst             of every 8 of the 64 bytes after the first 2, those at even positions
//                          come before those at odd ones; 16 dwords of them are transposed
//   kHasSigns              then come 32 bytes of signs at `kSigns`
//   kTail, kTailDwords     0 to 4 dwords of each row that are transposed, too
//   numbers(block, i, g)   4 indices of points of each row, the low 8 bits; with 4 coordinates
//                          first those of even points, then of odd ones
//   highs(block, i, g)     masks of their higher bits
//   signs(block, g), step_bits(block, i)  bits 0-3 are the code of a scale

#include "weft/ops/formats/iq_grid_bytes.h"

#include "cpu/kernels/lattice/lattice_rows.inl.h"

namespace weft::cpu {

template <class Arch, class C>
struct LatticeBytes;

// LatticeBytes if there is VBMI, otherwise Otherwise.
#ifdef __AVX512VBMI__
template <class Arch, class C, class Otherwise>
using LatticeBytesOr = LatticeBytes<Arch, C>;
#else
template <class Arch, class C, class Otherwise>
using LatticeBytesOr = Otherwise;
#endif

}  // namespace weft::cpu

#ifdef __AVX512VBMI__

namespace weft::cpu {

template <class Arch, class C>
struct LatticeBytes : LatticeRows<Arch, C> {
  using Base = LatticeRows<Arch, C>;
  using A = ActivationBlock;
  using Base::kRows, Base::kScales, Base::kSubs;
  using Rows = typename Base::Rows;

  // Dwords of two rows in turn: those of the lower or the upper half of every 16 bytes.
  template <int kHalf>
  static WEFT_INLINE __m512i both(__m512i first, __m512i second) {
    if constexpr (!C::kEvenFirst) {
      return kHalf == 0 ? _mm512_unpacklo_epi32(first, second)
                        : _mm512_unpackhi_epi32(first, second);
    } else {
      const __m128i here = _mm_setr_epi8(0, 2, 4, 6, 64, 66, 68, 70, 1, 3, 5, 7, 65, 67, 69, 71);
      const __m512i lanes =
          _mm512_setr_epi64(0, 0, 0x1010101010101010, 0x1010101010101010, 0x2020202020202020,
                            0x2020202020202020, 0x3030303030303030, 0x3030303030303030);
      const __m512i at = _mm512_add_epi8(_mm512_add_epi8(_mm512_broadcast_i32x4(here), lanes),
                                         _mm512_set1_epi8(8 * kHalf));
      return _mm512_permutex2var_epi8(first, at, second);
    }
  }
  // Dwords of 16 rows, by columns.
  static WEFT_INLINE void turn(const __m512i (&v)[16], __m512i* out) {
    __m512i w[16];
#pragma GCC unroll 4
    for (int i = 0; i < 16; i += 4) {
      const __m512i a = both<0>(v[i], v[i + 1]), b = both<1>(v[i], v[i + 1]),
                    c = both<0>(v[i + 2], v[i + 3]), d = both<1>(v[i + 2], v[i + 3]);
      w[i] = _mm512_unpacklo_epi64(a, c);
      w[i + 1] = _mm512_unpackhi_epi64(a, c);
      w[i + 2] = _mm512_unpacklo_epi64(b, d);
      w[i + 3] = _mm512_unpackhi_epi64(b, d);
    }
    // Vector 4q + i has columns i, 4 + i, 8 + i, 12 + i of rows 4q .. 4q + 3.
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const __m512i a = _mm512_shuffle_i64x2(w[i], w[4 + i], 0x44),
                    b = _mm512_shuffle_i64x2(w[i], w[4 + i], 0xee),
                    c = _mm512_shuffle_i64x2(w[8 + i], w[12 + i], 0x44),
                    d = _mm512_shuffle_i64x2(w[8 + i], w[12 + i], 0xee);
      out[i] = _mm512_shuffle_i64x2(a, c, 0x88);
      out[4 + i] = _mm512_shuffle_i64x2(a, c, 0xdd);
      out[8 + i] = _mm512_shuffle_i64x2(b, d, 0x88);
      out[12 + i] = _mm512_shuffle_i64x2(b, d, 0xdd);
    }
  }
  // The 8 dwords of 16 rows, by columns.
  static WEFT_INLINE void turn_halves(const __m512i (&v)[8], __m512i* out) {
    __m512i w[8];
#pragma GCC unroll 2
    for (int i = 0; i < 8; i += 4) {
      const __m512i a = _mm512_unpacklo_epi32(v[i], v[i + 1]),
                    b = _mm512_unpackhi_epi32(v[i], v[i + 1]),
                    c = _mm512_unpacklo_epi32(v[i + 2], v[i + 3]),
                    d = _mm512_unpackhi_epi32(v[i + 2], v[i + 3]);
      w[i] = _mm512_unpacklo_epi64(a, c);
      w[i + 1] = _mm512_unpackhi_epi64(a, c);
      w[i + 2] = _mm512_unpacklo_epi64(b, d);
      w[i + 3] = _mm512_unpackhi_epi64(b, d);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      out[i] = _mm512_shuffle_i64x2(w[i], w[4 + i], 0x88);
      out[4 + i] = _mm512_shuffle_i64x2(w[i], w[4 + i], 0xdd);
    }
  }
  static WEFT_INLINE constexpr int slot_of(int row) {
    return (row & 1) | (row & 12) >> 1 | (row & 2) << 2;
  }

  struct Block {
    __m512i dwords[16], signs[C::kHasSigns ? kSubs : 1];
    alignas(64) std::uint32_t tail[C::kTailDwords == 0 ? 1 : C::kTailDwords][kRows];
    __m512 units;

    WEFT_INLINE void read(const Rows& rows) {
      __m512i v[16];
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) v[r] = _mm512_loadu_si512(rows.slot(slot_of(r)) + 2);
      turn(v, dwords);
      if constexpr (C::kHasSigns) {
        __m512i s[8];
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) {
          const int r = i < 4 ? i : i + 4;  // and row r + 4
          const std::byte *low = rows.slot(slot_of(r)), *high = rows.slot(slot_of(r + 4));
          s[i] = _mm512_inserti64x4(_mm512_castsi256_si512(Bytes<Arch>::load(low + C::kSigns).v),
                                    Bytes<Arch>::load(high + C::kSigns).v, 1);
        }
        turn_halves(s, signs);
      }
      typename Base::Halves halves;
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const std::byte* block = rows.slot(slot_of(r));
        halves.put(slot_of(r), block);
#pragma GCC unroll 4
        for (int i = 0; i < C::kTailDwords; ++i)
          tail[i][r] = C::template read<std::uint32_t>(block + C::kTail[i]);
      }
      units = halves.units();
    }
    // Byte g % 4 of tail i + g / 4 of every row, four times.
    WEFT_INLINE __m512i tail_byte(int i, int g) const {
      const __m512i first =
          _mm512_broadcast_i32x4(_mm_setr_epi8(0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12));
      const __m512i which = _mm512_add_epi8(first, _mm512_set1_epi8(static_cast<char>(g % 4)));
      return _mm512_shuffle_epi8(_mm512_load_si512(tail[i + g / 4]), which);
    }
    // Number g of 4 bits from tail i on.
    WEFT_INLINE __m512i tail_number(int i, int g) const {
      return _mm512_srl_epi32(_mm512_load_si512(tail[i + g / 8]), _mm_cvtsi32_si128(g % 8 * 4));
    }
    // Scale i.
    WEFT_INLINE __m512 scale(int i) const {
      const __m512i twice = _mm512_slli_epi32(C::step_bits(*this, i), 1);
      const __m512i step =
          _mm512_ternarylogic_epi32(_mm512_set1_epi32(30), twice, _mm512_set1_epi32(1), 0xea);
      return _mm512_mul_ps(units, _mm512_cvtepi32_ps(step));
    }
  };

  // Bits 8 and 9 of 64 numbers.
  struct Highs {
    __mmask64 bits[2];
  };
  struct Table {
    __m512i bytes[2][C::kPoints / 64];

    // Reloaded for every block, because unpacking it needs the registers.
    WEFT_INLINE void load() {
      const std::byte* from = C::grid_bytes();
      asm volatile("" : "+r"(from));
#pragma GCC unroll 32
      for (int i = 0; i < C::kPoints / 32; ++i)
        bytes[i / (C::kPoints / 64)][i % (C::kPoints / 64)] = _mm512_load_si512(from + 64 * i);
    }
    template <int kFirst, int kCount>
    WEFT_INLINE __m512i among(int byte, __m512i numbers, __mmask64 eighth,
                              const Highs& highs) const {
      if constexpr (kCount == 128) {
        return _mm512_permutex2var_epi8(bytes[byte][kFirst / 64], numbers,
                                        bytes[byte][kFirst / 64 + 1]);
      } else {
        const __mmask64 upper = kCount == 256 ? eighth : highs.bits[kCount / 1024];
        return _mm512_mask_mov_epi8(
            among<kFirst, kCount / 2>(byte, numbers, eighth, highs), upper,
            among<kFirst + kCount / 2, kCount / 2>(byte, numbers, eighth, highs));
      }
    }
    WEFT_INLINE void look(__m512i numbers, const Highs& highs, __m512i (&out)[2]) const {
      const __mmask64 eighth = _mm512_movepi8_mask(numbers);
      out[0] = among<0, C::kPoints>(0, numbers, eighth, highs);
      out[1] = among<0, C::kPoints>(1, numbers, eighth, highs);
    }
  };

  // Codes by 6 bits; the upper ones are ignored.
  struct Codes {
    __m512i first, second;

    WEFT_INLINE void load() {
      const __m128i v = C::values();
      if constexpr (C::kCoordinates == 4) {
        first = _mm512_broadcast_i32x4(v);
        second = _mm512_broadcast_i32x4(_mm_unpacklo_epi8(v, _mm_srli_si128(v, 8)));
      } else {
        const __m128i both = _mm_unpacklo_epi32(v, _mm_srli_si128(v, 8));
        first = second = _mm512_broadcast_i32x4(_mm_unpacklo_epi64(both, both));
      }
    }
    // acts of two coordinates
    static constexpr int kMask = C::kCoordinates == 4 ? 0x18 : 0x44;
    template <class Acts>
    WEFT_INLINE void add(__m512i& sums, __m512i points, __m512i signs, const Acts& acts,
                         int i) const {
      const __m512i both = _mm512_ternarylogic_epi32(_mm512_set1_epi8(kMask), signs, points, 0xca);
      sums = _mm512_dpbusd_epi32(sums, _mm512_permutexvar_epi8(both, first), acts.at(i));
      sums = _mm512_dpbusd_epi32(sums, _mm512_permutexvar_epi8(_mm512_srli_epi16(both, 4), second),
                                 acts.at(i + 1));
    }
  };

  // The activations of a sub-block, in the order of codes: the same coordinate of 4 points, or two
  // coordinates of two points and then of the two points with the other scale.
  struct Acts {
    alignas(32) std::byte bytes[32];

    WEFT_INLINE explicit Acts(const std::byte* x) {
      // clang-format off
      const __m256i fours = _mm256_setr_epi8(
          0, 8, 16, 24, 1, 9, 17, 25, 2, 10, 18, 26, 3, 11, 19, 27,
          4, 12, 20, 28, 5, 13, 21, 29, 6, 14, 22, 30, 7, 15, 23, 31);
      const __m256i eights = _mm256_setr_epi8(
          0, 8, 16, 24, 4, 12, 20, 28, 1, 9, 17, 25, 5, 13, 21, 29,
          2, 10, 18, 26, 6, 14, 22, 30, 3, 11, 19, 27, 7, 15, 23, 31);
      const __m256i halves = _mm256_setr_epi8(
          0, 2, 8, 10, 16, 18, 24, 26, 4, 6, 12, 14, 20, 22, 28, 30,
          1, 3, 9, 11, 17, 19, 25, 27, 5, 7, 13, 15, 21, 23, 29, 31);
      // clang-format on
      const __m256i order = C::kCoordinates == 4 ? fours : kScales == 1 ? eights : halves;
      _mm256_store_si256(reinterpret_cast<__m256i*>(bytes),
                         _mm256_permutexvar_epi8(order, Bytes<Arch>::load(x + A::kCodes).v));
      // Otherwise compilers replace each load by two shuffles of the stored register.
      asm("" : "+m"(bytes));
    }
    WEFT_INLINE __m512i at(int i) const {
      if constexpr (kScales == 2)
        return _mm512_set1_epi64(C::template read<std::int64_t>(bytes + 8 * i));
      return _mm512_set1_epi32(C::template read<std::int32_t>(bytes + 4 * i));
    }
  };

  struct Tables {
    Table grid;
    Codes codes;
  };

  // Sub-block g.
  static WEFT_INLINE __m512 add(const Tables& tables, const Block& block, int g, const std::byte* x,
                                __m512 acc) {
    const Acts acts(x);
    const __m512i signs = C::signs(block, g);
    const Codes& codes = tables.codes;
    __m512i dots[2] = {};
    __m512i p[2];
    if constexpr (C::kCoordinates == 4) {
      tables.grid.look(C::numbers(block, 0, g), C::template highs<Highs>(block, 0, g), p);
      codes.add(dots[0], p[0], _mm512_slli_epi16(signs, 3), acts, 0);
      codes.add(dots[1], p[1], _mm512_slli_epi16(signs, 1), acts, 2);
      tables.grid.look(C::numbers(block, 1, g), C::template highs<Highs>(block, 1, g), p);
      codes.add(dots[0], p[0], _mm512_srli_epi16(signs, 1), acts, 4);
      codes.add(dots[1], p[1], _mm512_srli_epi16(signs, 3), acts, 6);
    } else {
      tables.grid.look(C::numbers(block, 0, g), C::template highs<Highs>(block, 0, g), p);
      const __m512i s[4] = {_mm512_slli_epi16(signs, 2), _mm512_slli_epi16(signs, 1), signs,
                            _mm512_srli_epi16(signs, 1)};
      if constexpr (kScales == 1) {
        codes.add(dots[0], p[0], s[0], acts, 0);
        codes.add(dots[1], _mm512_srli_epi16(p[0], 2), s[1], acts, 2);
        codes.add(dots[0], p[1], s[2], acts, 4);
        codes.add(dots[1], _mm512_srli_epi16(p[1], 2), s[3], acts, 6);
      } else {
        const __m512i low = _mm512_unpacklo_epi8(p[0], p[1]),
                      high = _mm512_unpackhi_epi8(p[0], p[1]);
        codes.add(dots[0], low, _mm512_unpacklo_epi8(s[0], s[2]), acts, 0);
        codes.add(dots[1], high, _mm512_unpackhi_epi8(s[0], s[2]), acts, 0);
        codes.add(dots[0], _mm512_srli_epi16(low, 2), _mm512_unpacklo_epi8(s[1], s[3]), acts, 2);
        codes.add(dots[1], _mm512_srli_epi16(high, 2), _mm512_unpackhi_epi8(s[1], s[3]), acts, 2);
      }
    }
    if constexpr (kScales == 1) {
      const __m512i sums = _mm512_add_epi32(dots[0], dots[1]);
      return Base::template add<7>(sums, block.scale(g), x, A::kStart, acc);
    }
    const __m512 a = _mm512_castsi512_ps(dots[0]), b = _mm512_castsi512_ps(dots[1]);
    const __m512i first = _mm512_castps_si512(_mm512_shuffle_ps(a, b, 0x88)),
                  second = _mm512_castps_si512(_mm512_shuffle_ps(a, b, 0xdd));
    acc = Base::template add<7>(first, block.scale(2 * g), x, A::kStartLow, acc);
    return Base::template add<7>(second, block.scale(2 * g + 1), x, A::kStartHigh, acc);
  }

  static __attribute__((noinline)) void run(const LinearArgs& a, std::int64_t t, std::int64_t c) {
    Tables tables;
    tables.codes.load();
    __m512 acc = _mm512_setzero_ps();
    const std::byte* x = a.x + t * a.x_stride;
    Ahead<Arch> ahead(a, t, c, kRows);
    Rows rows(a, c);
    for (std::int64_t k = 0; k < a.k; k += C::kBlockElems, rows.next()) {
      ahead.template next<kRows * C::kBlockBytes>();
      Block block;
      block.read(rows);
      rows.prefetch();
      tables.grid.load();
      for (int g = 0; g < kSubs; ++g, x += A::kBytes) acc = add(tables, block, g, x, acc);
    }
    Base::store(a, t, c, acc);
  }
};

}  // namespace weft::cpu

#endif
