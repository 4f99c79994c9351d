#pragma once
// One token times 16 rows of weights that are points of a lattice (IQ1, IQ2, IQ3): code shared by
// the kernels for points with 8 and with 4 coordinates. Every vector holds the same weights of
// several rows; only neighbouring lanes are ever added.
//
// For each of these formats `Codec` has, for a block of 256 weights of one row,
//   OneToken                LatticeEights or LatticeFours
//   kUnit                   a scale is kUnit * half(block) * step
//   half(block)             f16
// and the members that lattice_eights.inl.h or lattice_fours.inl.h require.

#include "cpu/kernels/linear/codec.inl.h"
#include "cpu/simd/simd.inl.h"

#ifdef __AVX512VNNI__

namespace weft::cpu {

template <class Arch, class C>
struct LatticeRows {
  using A = ActivationBlock;
  static constexpr int kRows = 16, kSubs = 8, kScales = C::kTwoScales ? 2 : 1;
  static_assert(C::kBlockElems == 32 * kSubs);

  // Vectors hold a qword of each of 8 rows: the first one those of slots 0-7, the second one those
  // of slots 8-15. Slots are numbered so that interleaving the dwords of both gives the order of
  // rows.
  static WEFT_INLINE constexpr int row_of(int slot) {
    return (slot & 1) | (slot & 6) << 1 | (slot & 8) >> 2;
  }

  // The same block of 16 rows from column c on, by slots; if there are fewer rows, the last one
  // again.
  struct Rows {
    const std::byte* first;
    std::int64_t offsets[kRows];

    WEFT_INLINE Rows(const LinearArgs& a, std::int64_t c) : first(a.w + c * a.w_stride) {
      const std::int64_t last = a.col1 - 1 - c;
      for (int s = 0; s < kRows; ++s)
        offsets[s] = (row_of(s) < last ? row_of(s) : last) * a.w_stride;
    }
    WEFT_INLINE const std::byte* slot(int s) const { return first + offsets[s]; }
    WEFT_INLINE void next() { first += C::kBlockBytes; }
    // Moves the next blocks, which Ahead brought into L2, into L1.
    WEFT_INLINE void prefetch() const {
#pragma GCC unroll 16
      for (int s = 0; s < kRows; ++s) {
#pragma GCC unroll 2
        for (int i = 0; i < C::kBlockBytes; i += 64)
          __builtin_prefetch(slot(s) + C::kBlockBytes + i, 0, 3);
      }
    }
  };

  // Bytes of 16 rows, by columns.
  template <int kColumns>
  struct Columns {
    alignas(64) std::byte bytes[(kColumns + 15) / 16 * 16][kRows];

    // Columns 16 * i .. 16 * i + 15 of row r, before they are turned.
    WEFT_INLINE void put(int r, int i, __m128i row) {
      _mm_store_si128(reinterpret_cast<__m128i*>(bytes[16 * i + (r & 3) * 4 + (r >> 2)]), row);
    }
    WEFT_INLINE void turn() {
#pragma GCC unroll 2
      for (int i = 0; i < kColumns; i += 16) turn(bytes + i);
    }
    // Vector i holds rows i, 4 + i, 8 + i, 12 + i. Dwords, then bytes within 128 bits change
    // places, then dwords between them.
    static WEFT_INLINE void turn(std::byte (*at)[kRows]) {
      __m512i v[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) v[i] = _mm512_load_si512(at[4 * i]);
      const __m512i a = _mm512_unpacklo_epi32(v[0], v[1]), b = _mm512_unpackhi_epi32(v[0], v[1]),
                    c = _mm512_unpacklo_epi32(v[2], v[3]), d = _mm512_unpackhi_epi32(v[2], v[3]);
      v[0] = _mm512_unpacklo_epi64(a, c);
      v[1] = _mm512_unpackhi_epi64(a, c);
      v[2] = _mm512_unpacklo_epi64(b, d);
      v[3] = _mm512_unpackhi_epi64(b, d);
      const __m512i turned = _mm512_broadcast_i32x4(
          _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
      const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
#pragma GCC unroll 4
      for (int i = 0; i < (kColumns < 16 ? kColumns / 4 : 4); ++i) {
        v[i] = _mm512_permutexvar_epi32(order, _mm512_shuffle_epi8(v[i], turned));
        _mm512_store_si512(at[4 * i], v[i]);
      }
    }
  };

  // The halves of 16 rows.
  struct Halves {
    alignas(32) std::uint16_t bits[kRows];

    WEFT_INLINE void put(int slot, const std::byte* block) { bits[row_of(slot)] = C::half(block); }
    WEFT_INLINE __m512 units() const {
      const __m256i h = _mm256_load_si256(reinterpret_cast<const __m256i*>(bits));
      return _mm512_mul_ps(_mm512_cvtph_ps(h), _mm512_set1_ps(C::kUnit));
    }
  };

  // acc += dots * (scale * scale of the activations); the weights in the dots have an offset of
  // 2^kRaised.
  template <int kRaised>
  static WEFT_INLINE __m512 add(__m512i dots, __m512 scale, const std::byte* x, int start,
                                __m512 acc) {
    if constexpr (kRaised != 0) {
      const auto sum = C::template read<std::int32_t>(x + start) >> (7 - kRaised);
      dots = _mm512_add_epi32(dots, _mm512_set1_epi32(sum));
    }
    const __m512 x_scale = _mm512_set1_ps(C::template read<float>(x + A::kScale));
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots), _mm512_mul_ps(scale, x_scale), acc);
  }
  // The sums of both dwords of every slot, in the order of rows.
  static WEFT_INLINE __m512i pairs(__m512i lower, __m512i upper) {
    const __m512 a = _mm512_castsi512_ps(lower), b = _mm512_castsi512_ps(upper);
    return _mm512_add_epi32(_mm512_castps_si512(_mm512_shuffle_ps(a, b, 0x88)),
                            _mm512_castps_si512(_mm512_shuffle_ps(a, b, 0xdd)));
  }

  static WEFT_INLINE void store(const LinearArgs& a, std::int64_t t, std::int64_t c, __m512 acc) {
    alignas(64) float sums[kRows];
    _mm512_store_ps(sums, acc);
    Epilogue<Arch>::store16(a, t, c, sums);
  }
};

}  // namespace weft::cpu

#endif
