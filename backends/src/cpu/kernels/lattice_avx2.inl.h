#pragma once
// Points of a lattice (IQ1, IQ2, IQ3) on machines with AVX2 only. A whole block of a row is
// unpacked at once: indices of points to words, signs to bits. For a sub-block only the points are
// left to load. Magnitudes and signs stay separate, as the products need them. The sums are those
// of LinearQ8A, in the same order.
//
// `Codec` has
//   kCoordinates         4 or 8 per point
//   grid()               the points
//   take(block, taken)   sets its points and either signs (a dword of 32 bits for each sub-block)
//                        or, if kHasShifts, for each point what to subtract from its codes

#include "cpu/kernels/codec.inl.h"
#include "cpu/kernels/linear_q8a.inl.h"

#ifdef __AVX2__

namespace weft::cpu {

struct LatticeTaken {
  alignas(32) std::uint16_t points[64];
  alignas(32) std::uint8_t signs[32];
};

// Helpers to unpack blocks: 16 words, 32 bytes.
template <class Arch>
struct LatticeWords {
  static WEFT_INLINE __m256i bytes_at(const std::byte* p) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static WEFT_INLINE void store(std::uint16_t* out, __m256i words) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(out), words);
  }
  static WEFT_INLINE void store(std::uint8_t* out, __m256i bytes) {
    _mm256_store_si256(reinterpret_cast<__m256i*>(out), bytes);
  }
  // Words 4 * i .. 4 * i + 3 of 8, or bytes as words, each four times.
  static WEFT_INLINE __m256i fourfold(__m128i words, int i) {
    const __m128i four = i == 0 ? words : _mm_srli_si128(words, 8);
    const __m256i at = _mm256_setr_epi64x(0x0100010001000100, 0x0302030203020302,
                                          0x0504050405040504, 0x0706070607060706);
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(four), at);
  }
  // 32 words below 256 as bytes.
  static WEFT_INLINE __m256i narrow(__m256i low, __m256i high) {
    return _mm256_permute4x64_epi64(_mm256_packus_epi16(low, high), 0xd8);
  }
  // Takes dwords with four times 7 bits. Sets the eighth bit of each byte so that the number of set
  // bits is even.
  static WEFT_INLINE __m256i even_of_7(__m256i s) {
    __m256i odd = _mm256_xor_si256(s, _mm256_slli_epi16(s, 4));
    odd = _mm256_xor_si256(odd, _mm256_slli_epi16(odd, 2));
    odd = _mm256_xor_si256(odd, _mm256_slli_epi16(odd, 1));
    return _mm256_or_si256(s, _mm256_and_si256(odd, _mm256_set1_epi8(-128)));
  }
  static WEFT_INLINE __m256i even_of_28(__m256i s) {
    const auto seven = [&](int i) __attribute__((always_inline)) {
      return _mm256_and_si256(_mm256_slli_epi32(s, i), _mm256_set1_epi32(0x7f << 8 * i));
    };
    return even_of_7(
        _mm256_or_si256(_mm256_or_si256(seven(0), seven(1)), _mm256_or_si256(seven(2), seven(3))));
  }
};

template <class F>
requires requires {
  typename Codec<Avx2, F>::Taken;
}
struct LinearQ8A<Avx2, Codec<Avx2, F>> {
  using C = Codec<Avx2, F>;
  using D = Dot<Avx2, C>;
  static constexpr int kSubs = C::kBlockElems / 32;
  static constexpr int kTile = 4;
  static constexpr std::int64_t kPanel =
      32;  // weight rows that stay in cache while all tokens pass

  static WEFT_INLINE void run(const LinearArgs& a) {
    for (std::int64_t c0 = a.col0; c0 < a.col1; c0 += kPanel) {
      const std::int64_t c1 = c0 + kPanel < a.col1 ? c0 + kPanel : a.col1;
      std::int64_t t = a.row0;
      for (; t + kTile <= a.row1; t += kTile) columns<kTile>(a, t, c0, c1);
      for (; t < a.row1; ++t) columns<1>(a, t, c0, c1);
    }
  }
  template <int T>
  static WEFT_INLINE void columns(const LinearArgs& a, std::int64_t t, std::int64_t c0,
                                  std::int64_t c1) {
    std::int64_t c = c0;
    for (; c + kTile <= c1; c += kTile) tile<kTile, T>(a, t, c);
    for (; c < c1; ++c) tile<1, T>(a, t, c);
  }

  // Rows t .. t + T - 1, columns c .. c + R - 1.
  template <int R, int T>
  static __attribute__((noinline)) void tile(const LinearArgs& a, std::int64_t t, std::int64_t c) {
    typename D::Lanes lanes[T][R];
#pragma GCC unroll 16
    for (int i = 0; i < T * R; ++i) lanes[i / R][i % R] = D::zero();
    const std::byte* x = a.x + t * a.x_stride;
    const std::byte* w = a.w + c * a.w_stride;
    Ahead<Avx2> ahead(a, t, c, R);
    for (std::int64_t k = 0; k < a.k; k += C::kBlockElems) {
      ahead.template next<R * C::kBlockBytes>();
      typename C::Header header[R];
      LatticeTaken taken[R];
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        header[r] = C::header(w + r * a.w_stride);
        C::take(w + r * a.w_stride, taken[r]);
      }
      for (int g = 0; g < kSubs; ++g, x += ActivationBlock::kBytes)
        add<R, T>(header, taken, g, x, a.x_stride, lanes);
      w += C::kBlockBytes;
    }
    for (int j = 0; j < T; ++j) {
      for (int r = 0; r < R; ++r)
        Epilogue<Avx2>::store(a, t + j, c + r, Simd<Avx2>::sum(lanes[j][r]));
    }
  }

  template <int R, int T>
  static WEFT_INLINE void add(const typename C::Header (&header)[R], const LatticeTaken (&taken)[R],
                              int g, const std::byte* x, std::int64_t x_stride,
                              typename D::Lanes (&lanes)[T][R]) {
    typename D::Activations acts[T];
#pragma GCC unroll 4
    for (int j = 0; j < T; ++j) acts[j] = D::activations(x + j * x_stride);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const auto weights = weights_of(taken[r], g, header[r].scales + (C::kTwoScales ? 2 * g : g));
#pragma GCC unroll 4
      for (int j = 0; j < T; ++j) lanes[j][r] = D::add(lanes[j][r], weights, acts[j]);
    }
  }

  static WEFT_INLINE __m256i points(const LatticeTaken& taken, int g) {
    if constexpr (C::kCoordinates == 8) {
      const std::uint16_t* n = taken.points + 4 * g;
      return Lookup<Avx2>::eights(C::eight(C::grid(), n[0]), C::eight(C::grid(), n[1]),
                                  C::eight(C::grid(), n[2]), C::eight(C::grid(), n[3]))
          .v;
    } else {
      std::int32_t p[8];
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) p[i] = C::four(C::grid(), taken.points[8 * g + i]);
      return Lookup<Avx2>::fours(p).v;
    }
  }
  static WEFT_INLINE typename D::Weights weights_of(const LatticeTaken& taken, int g,
                                                    const float* scales) {
    const __m256i all = points(taken, g);
    const __m256i byte_of =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    std::int32_t dword = 0;
    std::memcpy(&dword, taken.signs + 4 * g, sizeof(dword));
    const __m256i each = _mm256_shuffle_epi8(_mm256_set1_epi32(dword), byte_of);
    if constexpr (C::kHasShifts) return D::weights({_mm256_sub_epi8(all, each)}, scales);
    const __m256i bits = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201ull));
    const __m256i minus = _mm256_cmpeq_epi8(_mm256_and_si256(each, bits), bits);
    typename D::Weights weights = D::weights({all}, scales);
    weights.w = _mm256_or_si256(minus, _mm256_set1_epi8(1));
    weights.magnitude = all;
    return weights;
  }
};

}  // namespace weft::cpu

#endif
