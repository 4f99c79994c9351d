#pragma once
// f32 activations times weights of scalars in panels (cpu/panels.h), or in file order: a unit of a
// panel is one element of 16 weight rows, multiplied by one element of a token and added to the
// sums of 16 outputs. K is divided into pieces of 128 whose sums start at zero and are added up in
// the order of K, so that an output's bits do not depend on what else is computed with it.
//
// For few tokens weights are converted on the fly, two panels at a time, because each sum depends
// on the previous one. For more tokens, and in file order, pieces of two panels are converted into
// scratch once for all tokens of a block.

#include "cpu/kernels/linear/codec.inl.h"
#include "cpu/kernels/linear/float_rows.inl.h"
#include "cpu/kernels/linear/walk.inl.h"
#include "cpu/simd/transpose.inl.h"

namespace weft::cpu {

template <class Arch, class C, bool kInFile>
struct PanelsF32 {
  using V = typename Simd<Arch>::V;
  static constexpr int kRows = 16, kLanes = Simd<Arch>::kLanes, kVecs = kRows / kLanes;
  static constexpr std::int64_t kPiece = 128;
  static constexpr int kRegisters = kLanes == 16 ? 24 : 12;   // for sums
  static constexpr int kPair = 2;                             // panels of a piece
  static constexpr int kTile = kRegisters / (kPair * kVecs);  // tokens whose sums stay in registers
  static constexpr int kDirectTile = kTile < 4 ? kTile : 4;   // the same, if converting on the fly
  static constexpr int kDirect = 32;  // max tokens for which weights are converted on the fly
  static constexpr std::int64_t kUnit = kRows * C::kBytes;
  static constexpr TokenTiles kTokenTiles{.tile = kTile,
                                          .few = kInFile ? 1 : kDirect,
                                          .few_tile = kInFile ? 1 : kDirectTile,
                                          .block = kPanelTokens};
  static_assert(kPair * kPiece * kRows * 4 <= kDecodedPiece);

  // Sums of P panels for T tokens, one vector after the other.
  template <int P, int T>
  struct Sums {
    V v[P][kVecs][T];

    WEFT_INLINE Sums() {
      each([](V & sum, int, int, int) __attribute__((always_inline)) { sum = V(0.0f); });
    }
    template <class F>
    WEFT_INLINE void each(F f) {
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) {
#pragma GCC unroll 4
        for (int i = 0; i < kVecs; ++i) {
#pragma GCC unroll 12
          for (int j = 0; j < T; ++j) f(v[p][i][j], p, i, j);
        }
      }
    }
    // weights(p, i): vector i of the unit of panel p.
    template <class W>
    WEFT_INLINE void add(W weights, const float* x, std::int64_t x_stride) {
      V w[P][kVecs];
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) {
#pragma GCC unroll 4
        for (int i = 0; i < kVecs; ++i) w[p][i] = weights(p, i);
      }
#pragma GCC unroll 12
      for (int j = 0; j < T; ++j) {
        const V xs(x[j * x_stride]);
#pragma GCC unroll 4
        for (int p = 0; p < P; ++p) {
#pragma GCC unroll 4
          for (int i = 0; i < kVecs; ++i) v[p][i][j] = Simd<Arch>::fma(xs, w[p][i], v[p][i][j]);
        }
      }
    }
  };

  static WEFT_INLINE const float* row(const LinearArgs& a, std::int64_t t) {
    return reinterpret_cast<const float*>(a.x + t * a.x_stride);
  }
  static WEFT_INLINE std::int64_t floats(std::int64_t bytes) {
    return bytes / 4;
  }

  // ---- few tokens

  // P panels from column c on.
  template <int P, int T>
  static __attribute__((noinline)) void direct(const LinearArgs& a, std::int64_t t,
                                               std::int64_t c) {
    Sums<P, T> total;
    const std::byte* const w = a.w + c * a.w_stride;
    const float* const x = row(a, t);
    for (std::int64_t k0 = 0; k0 < a.k; k0 += kPiece) {
      const std::int64_t k1 = k0 + kPiece < a.k ? k0 + kPiece : a.k;
      Sums<P, T> sums;
      for (std::int64_t k = k0; k < k1; ++k) {
        const auto weights = [&](int p, int i) __attribute__((always_inline)) {
          const std::byte* unit = w + p * kRows * a.w_stride + k * kUnit;
          if (i == 0) __builtin_prefetch(unit + 2048);
          return C::load(unit + i * kLanes * C::kBytes);
        };
        sums.add(weights, x + k, floats(a.x_stride));
      }
      total.each([&](V & sum, int p, int i, int j)
                     __attribute__((always_inline)) { sum = sum + sums.v[p][i][j]; });
    }
    alignas(64) float out[P][T][kRows];
    total.each([&](V & sum, int p, int i, int j)
                   __attribute__((always_inline)) { sum.store_aligned(out[p][j] + i * kLanes); });
    for (int p = 0; p < P; ++p) {
      for (int j = 0; j < T; ++j) Epilogue<Arch>::store16(a, t + j, c + p * kRows, out[p][j]);
    }
  }

  // Panels c .. c + P - 1 for all tokens; later tiles find them in L2.
  template <int P>
  static WEFT_INLINE void direct_panels(const LinearArgs& a, std::int64_t c) {
    Tiles<Arch, kDirectTile>::each(
        a.row1 - a.row0, [&]<int T>(std::int64_t j)
                             __attribute__((always_inline)) { direct<P, T>(a, a.row0 + j, c); });
  }

  static WEFT_INLINE void direct(const LinearArgs& a, std::int64_t c0) {
    std::int64_t c = c0;
    // Two panels: more would be too many memory streams, fewer too few chains of sums.
    for (; c + 2 * kRows <= a.col1; c += 2 * kRows) direct_panels<2>(a, c);
    for (; c < a.col1; c += kRows) direct_panels<1>(a, c);
  }

  struct Piece {
    alignas(64) float w[kPair][kPiece][kRows];
  };

#ifdef WEFT_SIXTEEN
  // ---- rows in file order

  // P panels from column c on.
  template <int P>
  static __attribute__((noinline)) void one_token(const LinearArgs& a, std::int64_t c) {
    using S = Sixteen<Arch>;
    using Rows = FloatRows<Arch, C, P>;
    const float* const x = row(a, a.row0);
    const Rows rows(a, c);
    typename S::Floats total[2] = {S::all(0), S::all(0)};
    for (std::int64_t k0 = 0; k0 < a.k; k0 += kPiece) {
      typename S::Floats sums[2] = {S::all(0), S::all(0)};
      rows.each(
          k0, k0 + kPiece < a.k ? k0 + kPiece : a.k,
          [&](const auto& step, std::int64_t k, int n) __attribute__((always_inline)) {
#pragma GCC unroll 8
            for (int i = 0; i < Rows::kStep; ++i) {
              if (i == n) break;
#pragma GCC unroll 2
              for (int p = 0; p < P; ++p)
                sums[p] = S::fma(S::all(x[k + i]), step.element(p, i), sums[p]);
            }
          });
#pragma GCC unroll 2
      for (int p = 0; p < P; ++p) total[p] = total[p] + sums[p];
    }
    for (int p = 0; p < P; ++p) {
      alignas(64) float out[kRows];
      S::store(out, total[p]);
      Epilogue<Arch>::store16(a, a.row0, c + p * kRows, out);
    }
  }
  static WEFT_INLINE void one_token(const LinearArgs& a, std::int64_t c0) {
    std::int64_t c = c0;
    for (; c + kRows < a.col1; c += 2 * kRows) one_token<2>(a, c);
    if (c < a.col1) one_token<1>(a, c);
  }

  // Elements from k0 on to a piece.
  template <int P>
  static WEFT_INLINE void convert_rows(const LinearArgs& a, std::int64_t c, std::int64_t k0,
                                       std::int64_t n, Piece& out) {
    using Rows = FloatRows<Arch, C, P>;
    const Rows rows(a, c);
    rows.each(
        k0,
        k0 + n, [&](const auto& step, std::int64_t k, int count) __attribute__((always_inline)) {
#pragma GCC unroll 8
          for (int i = 0; i < Rows::kStep; ++i) {
            if (i == count) break;
#pragma GCC unroll 2
            for (int p = 0; p < P; ++p)
              Sixteen<Arch>::store(out.w[p][k - k0 + i], step.element(p, i));
          }
        });
  }
#else
  // The same, by squares of a vector.
  template <int P>
  static WEFT_INLINE void convert_rows(const LinearArgs& a, std::int64_t c, std::int64_t k0,
                                       std::int64_t n, Piece& out) {
    alignas(64) float elements[kLanes][kPiece];
    for (std::int64_t r = 0; r < P * kRows; r += kLanes) {
      for (std::int64_t i = 0; i < kLanes; ++i) {
        const std::int64_t column = c + r + i < a.col1 ? c + r + i : a.col1 - 1;
        C::decode(a.w + column * a.w_stride, k0, k0 + n, elements[i]);
      }
      float(*const to)[kRows] = out.w[r / kRows];
      for (std::int64_t k = 0; k < n; k += kLanes) {  // beyond n, too: kPiece is a multiple
        V square[kLanes];
        for (int i = 0; i < kLanes; ++i) square[i] = V::load_aligned(elements[i] + k);
        Transpose<Arch>::run(square);
        for (int i = 0; i < kLanes; ++i) square[i].store_aligned(to[k + i] + r % kRows);
      }
    }
  }
#endif

  // ---- many tokens

  static WEFT_INLINE void convert(const LinearArgs& a, std::int64_t c, int n_panels,
                                  std::int64_t k0, std::int64_t n, Piece& out) {
    for (int p = 0; p < n_panels; ++p) {
      const std::byte* unit = a.w + (c + p * kRows) * a.w_stride + k0 * kUnit;
      for (std::int64_t k = 0; k < n; ++k, unit += kUnit) {
#pragma GCC unroll 4
        for (int i = 0; i < kVecs; ++i)
          C::load(unit + i * kLanes * C::kBytes).store_aligned(out.w[p][k] + i * kLanes);
      }
    }
  }

  // Adds the piece to the sums of T tokens, [panel][token][row].
  template <int P, int T>
  static __attribute__((noinline)) void tile(const Piece& piece, std::int64_t n, const float* x,
                                             std::int64_t x_stride, float* sums,
                                             std::int64_t panel_stride) {
    Sums<P, T> acc;
    for (std::int64_t k = 0; k < n; ++k) {
      acc.add(
          [&](int p, int i) __attribute__((always_inline)) {
            return V::load_aligned(piece.w[p][k] + i * kLanes);
          },
          x + k, x_stride);
    }
    acc.each([&](V & sum, int p, int i, int j) __attribute__((always_inline)) {
      float* to = sums + p * panel_stride + j * kRows + i * kLanes;
      (V::load_aligned(to) + sum).store_aligned(to);
    });
  }

  // Tokens t .. t + n_tokens - 1.
  template <int P>
  static WEFT_INLINE void add_piece(const LinearArgs& a, const Piece& piece, std::int64_t k,
                                    std::int64_t n, std::int64_t t, std::int64_t n_tokens,
                                    float* sums) {
    Tiles<Arch, kTile>::each(
        n_tokens, [&]<int T>(std::int64_t j) __attribute__((always_inline)) {
          tile<P, T>(piece, n, row(a, t + j) + k, floats(a.x_stride), sums + j * kRows,
                     n_tokens * kRows);
        });
  }

  // As PanelsQ8A::block.
  static WEFT_INLINE void block(const LinearArgs& a, std::int64_t t, std::int64_t n_tokens,
                                std::int64_t c0, std::int64_t c1) {
    auto& piece = *reinterpret_cast<Piece*>(a.scratch);
    float* const sums = reinterpret_cast<float*>(a.scratch + kDecodedPiece);
    const std::int64_t panel_stride = n_tokens * kRows;
    const std::int64_t n_panels = (c1 - c0 + kRows - 1) / kRows;
    std::memset(sums, 0, static_cast<std::size_t>(n_panels * panel_stride) * sizeof(float));
    const Walk<Arch> walk({c0, 0}, {kPair * kRows, kPiece}, c1, a.k,
                          kInFile ? n_tokens * a.k * 4 : Walk<Arch>::kCached + 1);
    for (std::int64_t step = 0; step < walk.n_steps(); ++step) {
      const auto [c, k] = walk.at(step);
      const std::int64_t n = k + kPiece < a.k ? kPiece : a.k - k;
      const int pair = c + kRows < c1 ? kPair : 1;
      if constexpr (kInFile)
        pair == kPair ? convert_rows<kPair>(a, c, k, n, piece) : convert_rows<1>(a, c, k, n, piece);
      if constexpr (!kInFile) convert(a, c, pair, k, n, piece);
      float* const to = sums + (c - c0) * n_tokens;
      pair == kPair ? add_piece<kPair>(a, piece, k, n, t, n_tokens, to)
                    : add_piece<1>(a, piece, k, n, t, n_tokens, to);
    }
    for (std::int64_t p = 0; p < n_panels; ++p) {
      for (std::int64_t j = 0; j < n_tokens; ++j)
        Epilogue<Arch>::store16(a, t + j, c0 + p * kRows, sums + p * panel_stride + j * kRows);
    }
  }

  static WEFT_INLINE void run(const LinearArgs& a) {
    const std::int64_t c0 = a.col0 / kRows * kRows;
#ifdef WEFT_SIXTEEN
    if constexpr (kInFile) {
      if (a.row1 - a.row0 == 1) return one_token(a, c0);
    }
#endif
    if constexpr (!kInFile) {
      if (a.row1 - a.row0 <= kDirect) return direct(a, c0);
    }
    for (std::int64_t t = a.row0; t < a.row1; t += kPanelTokens) {
      const std::int64_t n = t + kPanelTokens < a.row1 ? kPanelTokens : a.row1 - t;
      for (std::int64_t c = c0; c < a.col1; c += kPanelCols)
        block(a, t, n, c, c + kPanelCols < a.col1 ? c + kPanelCols : a.col1);
    }
  }
};

}  // namespace weft::cpu
