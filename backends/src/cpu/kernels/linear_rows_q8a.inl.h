#pragma once
// Q8A activations times weights in file order whose codes are expensive to decode: 16 rows at a
// time, so that codes are decoded once for many tokens, and scales are applied to 16 sums at once.
//
// Many tokens: a piece of the rows is converted to a panel and multiplied by the panel kernels. One
// token: the dot products of 16 rows are summed across lanes together. Both add up the same
// integers, and then floats in the same order, so that a token's bits are the same.

#include "cpu/kernels/linear_panels_q8a.inl.h"

#ifdef __AVX512VNNI__

namespace weft::cpu {

template <class Arch, class C>
struct RowsQ8A {
  static_assert(C::kSigned && !C::kHasMins && C::kParts == 1);
  using A = ActivationBlock;
  static constexpr int kRows = 16, kSubs = C::kBlockElems / 32, kScales = C::kTwoScales ? 2 : 1;
  struct Shape : PanelCodecBase<Arch> {
    static constexpr int kSubs = C::kBlockElems / 32, kUnits = 1, kScales = C::kTwoScales ? 2 : 1;
    static constexpr int kOffset = 128, kMaxCode = 128;
    static constexpr bool kHasHalves = false;
  };
  using Panels = PanelsQ8A<Arch, Shape>;
  using Piece = typename Panels::Piece;
  static constexpr std::int64_t kPieceBlocks = Panels::kPieceSubs / kSubs;
  // The tokens whose sums fit beside a piece, and the activations that stay in L2.
  static constexpr std::int64_t kTokens =
      (kLinearScratch - static_cast<std::int64_t>(sizeof(Piece))) / (kRows * 4);
  static constexpr std::int64_t kCached = 768 * 1024;
  static_assert(kTokens >= 64);

  static WEFT_INLINE void run(const LinearArgs& a) {
    if (a.row1 - a.row0 == 1) {
      for (std::int64_t c = a.col0; c < a.col1; c += kRows) {
        if constexpr (requires { typename C::OneToken; }) {
          C::OneToken::run(a, a.row0, c);
        } else {
          one_token(a, a.row0, c);
        }
      }
      return;
    }
    std::int64_t max_rows = kCached / (a.k / 32 * A::kBytes);
    max_rows = max_rows < 32 ? 32 : max_rows > kTokens ? kTokens : max_rows;
    for (std::int64_t t = a.row0; t < a.row1; t += max_rows) {
      const std::int64_t n = a.row1 - t < max_rows ? a.row1 - t : max_rows;
      for (std::int64_t c = a.col0; c < a.col1; c += kRows) many_tokens(a, t, n, c);
    }
  }

  // The same block of 16 rows from column c on; if there are fewer, the last one again.
  struct Block {
    const std::byte* first;
    std::int64_t stride, last;

    WEFT_INLINE Block(const LinearArgs& a, std::int64_t c)
        : first(a.w + c * a.w_stride), stride(a.w_stride), last(a.col1 - 1 - c) {}
    WEFT_INLINE const std::byte* row(int r) const { return first + (r < last ? r : last) * stride; }
    WEFT_INLINE void next() { first += C::kBlockBytes; }

    WEFT_INLINE void scales(float (*out)[kRows]) const {
      for (int r = 0; r < kRows; ++r) {
        const auto header = C::header(row(r));
#pragma GCC unroll 16
        for (int i = 0; i < kSubs * kScales; ++i) out[i][r] = header.scales[i];
      }
    }
    // Codes of a sub-block, raised by 128: rows 0 and 4, 1 and 5, 2 and 6, 3 and 7, then the upper
    // eight rows likewise.
    WEFT_INLINE void codes(int group, __m512i (&out)[8]) const {
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) {
        const int r = i % 4 + i / 4 * 8;
        const __m512i low = _mm512_castsi256_si512(C::template codes<0>(row(r), group).v);
        const __m256i high = C::template codes<0>(row(r + 4), group).v;
        out[i] = _mm512_xor_si512(_mm512_inserti64x4(low, high, 1),
                                  _mm512_set1_epi8(static_cast<char>(128)));
      }
    }
  };

  // From vectors in the order of Block::codes: 128-bit lanes 0 and 2, or 1 and 3, make 16 rows.
  static WEFT_INLINE __m512i first_halves(__m512i lower, __m512i upper) {
    return _mm512_shuffle_i64x2(lower, upper, 0x88);
  }
  static WEFT_INLINE __m512i second_halves(__m512i lower, __m512i upper) {
    return _mm512_shuffle_i64x2(lower, upper, 0xdd);
  }

  // ---- one token

  // In each 128-bit lane, the sums over that lane of four vectors.
  static WEFT_INLINE __m512i lane_sums(const __m512i* v) {
    const __m512i a =
        _mm512_add_epi32(_mm512_unpacklo_epi32(v[0], v[1]), _mm512_unpackhi_epi32(v[0], v[1]));
    const __m512i b =
        _mm512_add_epi32(_mm512_unpacklo_epi32(v[2], v[3]), _mm512_unpackhi_epi32(v[2], v[3]));
    return _mm512_add_epi32(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
  }
  static WEFT_INLINE __m512i start(const std::byte* x, int at) {
    return _mm512_set1_epi32(C::template read<std::int32_t>(x + at));
  }
  static WEFT_INLINE __m512 add(__m512i dots, const float* scales, const std::byte* x, __m512 acc) {
    const __m512 x_scale = _mm512_set1_ps(C::template read<float>(x + A::kScale));
    const __m512 scale = _mm512_mul_ps(_mm512_load_ps(scales), x_scale);
    return _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots), scale, acc);
  }

  static __attribute__((noinline)) void one_token(const LinearArgs& a, std::int64_t t,
                                                  std::int64_t c) {
    __m512 acc = _mm512_setzero_ps();
    const std::byte* x = a.x + t * a.x_stride;
    Ahead<Arch> ahead(a, t, c, kRows);
    Block block(a, c);
    for (std::int64_t k = 0; k < a.k; k += C::kBlockElems, block.next()) {
      ahead.template next<kRows * C::kBlockBytes>();
      alignas(64) float scales[kSubs * kScales][kRows];
      block.scales(scales);
      for (int g = 0; g < kSubs; ++g, x += A::kBytes) {
        const __m512i acts = _mm512_broadcast_i64x4(Bytes<Arch>::load(x + A::kCodes).v);
        __m512i v[8];
        block.codes(g, v);
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) v[i] = _mm512_dpbusd_epi32(_mm512_setzero_si512(), v[i], acts);
        const __m512i lower = lane_sums(v), upper = lane_sums(v + 4);
        const __m512i first = first_halves(lower, upper), second = second_halves(lower, upper);
        if constexpr (kScales == 1) {
          const __m512i dots = _mm512_add_epi32(first, second);
          acc = add(_mm512_add_epi32(dots, start(x, A::kStart)), scales[g], x, acc);
        } else {
          acc = add(_mm512_add_epi32(first, start(x, A::kStartLow)), scales[2 * g], x, acc);
          acc = add(_mm512_add_epi32(second, start(x, A::kStartHigh)), scales[2 * g + 1], x, acc);
        }
      }
    }
    alignas(64) float sums[kRows];
    _mm512_store_ps(sums, acc);
    Epilogue<Arch>::store16(a, t, c, sums);
  }

  // ---- many tokens

  // Words i of 16 rows to out[i].
  static WEFT_INLINE void transpose(const __m512i (&v)[8], __m512i* out) {
    __m512i words[2][4];
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half) {
      const __m512i* from = v + 4 * half;
      const __m512i a = _mm512_unpacklo_epi32(from[0], from[1]),
                    b = _mm512_unpackhi_epi32(from[0], from[1]),
                    c = _mm512_unpacklo_epi32(from[2], from[3]),
                    d = _mm512_unpackhi_epi32(from[2], from[3]);
      words[half][0] = _mm512_unpacklo_epi64(a, c);
      words[half][1] = _mm512_unpackhi_epi64(a, c);
      words[half][2] = _mm512_unpacklo_epi64(b, d);
      words[half][3] = _mm512_unpackhi_epi64(b, d);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      _mm512_store_si512(out + i, first_halves(words[0][i], words[1][i]));
      _mm512_store_si512(out + i + 4, second_halves(words[0][i], words[1][i]));
    }
  }

  static __attribute__((noinline)) void fill(Block& block, std::int64_t n_blocks, Piece& piece) {
    for (int at = 0; at < n_blocks * kSubs; at += kSubs, block.next()) {
      block.scales(reinterpret_cast<float(*)[kRows]>(piece.scales[at]));
      for (int g = 0; g < kSubs; ++g) {
        __m512i v[8];
        block.codes(g, v);
        transpose(v, piece.codes[at + g]);
      }
    }
  }

  static __attribute__((noinline)) void many_tokens(const LinearArgs& a, std::int64_t t,
                                                    std::int64_t n_tokens, std::int64_t c) {
    auto& piece = *reinterpret_cast<Piece*>(a.scratch);
    float* const sums = reinterpret_cast<float*>(a.scratch + sizeof(Piece));
    std::memset(sums, 0, static_cast<std::size_t>(n_tokens * kRows) * sizeof(float));
    Block block(a, c);
    const std::int64_t n_blocks = a.k / C::kBlockElems;
    for (std::int64_t b = 0; b < n_blocks; b += kPieceBlocks) {
      const std::int64_t n = n_blocks - b < kPieceBlocks ? n_blocks - b : kPieceBlocks;
      fill(block, n, piece);
      Panels::add_piece(a, piece, static_cast<int>(n * kSubs), b * C::kBlockElems, t, n_tokens,
                        sums, nullptr);
    }
    for (std::int64_t j = 0; j < n_tokens; ++j)
      Epilogue<Arch>::store16(a, t + j, c, sums + j * kRows);
  }
};

}  // namespace weft::cpu

#endif
