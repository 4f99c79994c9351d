#pragma once
// f32 activations times weights of any format. A piece of 4 weight rows is decoded into scratch,
// which stays in L1, and multiplied by up to 32 tokens; between pieces the sums are in scratch. For
// a single token scalars are converted on the fly. Lanes run along K: an element has one vector of
// sums, added up in the order of K, whatever else is computed with it.

#include "cpu/kernels/codec.inl.h"

namespace weft::cpu {

template <class Arch, class C>
struct LinearF32 {
  using V = typename Simd<Arch>::V;
  static constexpr int kLanes = Simd<Arch>::kLanes;
  static constexpr int kTile = 4;
  static constexpr std::int64_t kTokens = 32;
  static constexpr std::int64_t kPiece = 512;
  static_assert(kTile * kPiece * 4 + kTokens * kTile * static_cast<std::int64_t>(sizeof(V)) <=
                kLinearScratch);

  static WEFT_INLINE void run(const LinearArgs& a) {
    std::int64_t c = a.col0;
    for (; c + kTile <= a.col1; c += kTile) columns<kTile>(a, c);
    for (; c < a.col1; ++c) columns<1>(a, c);
  }

  template <int R>
  static WEFT_INLINE void columns(const LinearArgs& a, std::int64_t c) {
    if constexpr (!C::kHasIntegerRow && !C::kIsDecoded) {
      if (a.row1 - a.row0 == 1) {
        if constexpr (C::kIsTable) {
          return direct_blocks<R>(a, c);
        } else {
          return direct<R>(a, c);
        }
      }
    }
    pieces<R>(a, c);
  }

  // One token.
  template <int R>
  static __attribute__((noinline)) void direct(const LinearArgs& a, std::int64_t c) {
    V acc[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) acc[r] = V(0.0f);
    const float* const x = reinterpret_cast<const float*>(a.x + a.row0 * a.x_stride);
    const std::byte* w = a.w + c * a.w_stride;
    Ahead<Arch> ahead(a, a.row0, c, R);
    std::int64_t k = 0;
    for (; k + kLanes <= a.k; k += kLanes, w += kLanes * C::kBytes) {
      ahead.template next<R * kLanes * C::kBytes>();
      const V xs = V::load_unaligned(x + k);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) acc[r] = Simd<Arch>::fma(C::load(w + r * a.w_stride), xs, acc[r]);
    }
    const std::int64_t rest = a.k - k;
    const V xs = Part<Arch>::load(x + k, rest);
    for (int r = 0; r < R; ++r) {
      if (rest > 0) {
        const V part = Decode<Arch, C>::load_part(w + r * a.w_stride, rest);
        acc[r] = Simd<Arch>::fma(part, xs, acc[r]);
      }
      Epilogue<Arch>::store(a, a.row0, c + r, Simd<Arch>::sum(acc[r]));
    }
  }

  template <int R>
  static __attribute__((noinline)) void direct_blocks(const LinearArgs& a, std::int64_t c) {
    V acc[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) acc[r] = V(0.0f);
    const float* x = reinterpret_cast<const float*>(a.x + a.row0 * a.x_stride);
    const std::byte* w = a.w + c * a.w_stride;
    Ahead<Arch> ahead(a, a.row0, c, R);
    for (std::int64_t k = 0; k < a.k; k += C::kBlockElems, w += C::kBlockBytes) {
      ahead.template next<R * C::kBlockBytes>();
#pragma GCC unroll 16
      for (int i = 0; i < C::kBlockElems; i += kLanes, x += kLanes) {
        const V xs = V::load_unaligned(x);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r)
          acc[r] = Simd<Arch>::fma(C::values(w + r * a.w_stride, i), xs, acc[r]);
      }
    }
    for (int r = 0; r < R; ++r) Epilogue<Arch>::store(a, a.row0, c + r, Simd<Arch>::sum(acc[r]));
  }

  template <int R>
  static __attribute__((noinline)) void pieces(const LinearArgs& a, std::int64_t c) {
    float* const sums = reinterpret_cast<float*>(a.scratch);  // [tokens][R][lanes]
    float* const panel = sums + kTokens * kTile * kLanes;     // [R][kPiece]
    for (std::int64_t t0 = a.row0; t0 < a.row1; t0 += kTokens) {
      const std::int64_t n = t0 + kTokens < a.row1 ? kTokens : a.row1 - t0;
      for (std::int64_t i = 0; i < n * R; ++i) V(0.0f).store_aligned(sums + i * kLanes);
      for (std::int64_t k = 0; k < a.k; k += kPiece) {
        const std::int64_t k1 = k + kPiece < a.k ? k + kPiece : a.k;
        const float* w[R];
        for (int r = 0; r < R; ++r)
          w[r] = piece(a, a.w + (c + r) * a.w_stride, k, k1, panel + r * kPiece);
        tokens<R>(a, w, t0, n, k, k1 - k, sums);
      }
      for (std::int64_t j = 0; j < n; ++j) {
        for (int r = 0; r < R; ++r) {
          Epilogue<Arch>::store(a, t0 + j, c + r,
                                Simd<Arch>::sum(V::load_aligned(sums + (j * R + r) * kLanes)));
        }
      }
    }
  }

  static WEFT_INLINE const float* piece(const LinearArgs& a, const std::byte* row,
                                        std::int64_t begin, std::int64_t end, float* panel) {
    if constexpr (C::kIsF32) {
      return reinterpret_cast<const float*>(row) + begin;
    } else if constexpr (C::kIsDecoded) {
      a.decode(row + begin / a.block_elems * a.block_bytes, panel, end - begin);
      return panel;
    } else {
      C::decode(row, begin, end, panel);
      return panel;
    }
  }

  template <int R>
  static WEFT_INLINE void tokens(const LinearArgs& a, const float* const (&w)[R], std::int64_t t0,
                                 std::int64_t n, std::int64_t k, std::int64_t n_elems,
                                 float* sums) {
    const std::byte* x = a.x + t0 * a.x_stride + k * static_cast<std::int64_t>(sizeof(float));
    std::int64_t j = 0;
    for (; j + kTile <= n; j += kTile)
      tile<R, kTile>(w, x + j * a.x_stride, a.x_stride, n_elems, sums + j * R * kLanes);
    for (; j < n; ++j)
      tile<R, 1>(w, x + j * a.x_stride, a.x_stride, n_elems, sums + j * R * kLanes);
  }

  template <int R, int T>
  static WEFT_INLINE void tile(const float* const (&w)[R], const std::byte* x,
                               std::int64_t x_stride, std::int64_t n, float* sums) {
    V acc[T][R];
    const float* rows[T];
#pragma GCC unroll 4
    for (int j = 0; j < T; ++j) {
      rows[j] = reinterpret_cast<const float*>(x + j * x_stride);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) acc[j][r] = V::load_aligned(sums + (j * R + r) * kLanes);
    }
    std::int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      add<R, T>(
          acc,
          [&](const float* p) __attribute__((always_inline)) { return V::load_unaligned(p + i); },
          w, rows);
    }
    if (i < n) {
      add<R, T>(
          acc,
          [&](const float* p)
              __attribute__((always_inline)) { return Part<Arch>::load(p + i, n - i); },
          w, rows);
    }
#pragma GCC unroll 4
    for (int j = 0; j < T; ++j) {
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) acc[j][r].store_aligned(sums + (j * R + r) * kLanes);
    }
  }

  template <int R, int T, class Load>
  static WEFT_INLINE void add(V (&acc)[T][R], Load load, const float* const (&w)[R],
                              const float* const (&x)[T]) {
    V xs[T];
#pragma GCC unroll 4
    for (int j = 0; j < T; ++j) xs[j] = load(x[j]);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const V wr = load(w[r]);
#pragma GCC unroll 4
      for (int j = 0; j < T; ++j) acc[j][r] = Simd<Arch>::fma(wr, xs[j], acc[j][r]);
    }
  }
};

}  // namespace weft::cpu
