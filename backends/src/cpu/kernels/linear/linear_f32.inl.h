#pragma once
// f32 activations times weights of any format. A piece of 4 weight rows is decoded into scratch,
// which stays in L1, and multiplied by up to 32 tokens; between pieces the sums are in scratch. For
// a single token scalars are converted on the fly. Lanes run along K: an element has one vector of
// 16 sums, added up in the order of K, regardless of what else is computed with it.

#include "cpu/kernels/linear/codec.inl.h"
#include "cpu/simd/wide.inl.h"

namespace weft::cpu {

template <class Arch, class C>
struct LinearF32 {
  using W = Wide<Arch>;
  static constexpr int kSum = 16;                   // lanes
  static constexpr int kTile = 4;                   // weight rows
  static constexpr int kTokenTile = 4 / W::kParts;  // tokens whose sums nearly stay in registers
  static constexpr std::int64_t kTokens = 32;
  static constexpr std::int64_t kPiece = 512;
  static constexpr TokenTiles kTokenTiles{.tile = kTokenTile, .block = kTokens};
  static_assert(kTile * kPiece * 4 + kTokens * kTile * kSum * 4 <= kDecodedPiece);

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
    W acc[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) acc[r] = W::zero();
    const float* const x = reinterpret_cast<const float*>(a.x + a.row0 * a.x_stride);
    const std::byte* w = a.w + c * a.w_stride;
    Ahead<Arch> ahead(a, a.row0, c, R);
    std::int64_t k = 0;
    for (; k + 16 <= a.k; k += 16, w += 16 * C::kBytes) {
      ahead.template next<R * 16 * C::kBytes>();
      const W xs = W::load(x + k);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) acc[r] = acc[r].plus(weights(w + r * a.w_stride), xs);
    }
    const std::int64_t rest = a.k - k;
    const W xs = W::load(x + k, rest);
    for (int r = 0; r < R; ++r) {
      if (rest > 0) acc[r] = acc[r].plus(weights(w + r * a.w_stride, rest), xs);
      Epilogue<Arch>::store(a, a.row0, c + r, acc[r].sum());
    }
  }
  static WEFT_INLINE W weights(const std::byte* w) {
    return W::of([=](int i) __attribute__((always_inline)) { return C::load(w + i * C::kBytes); });
  }
  // The first n < 16, followed by zeros.
  static WEFT_INLINE W weights(const std::byte* w, std::int64_t n) {
    alignas(64) std::byte part[16 * C::kBytes] = {};
    std::memcpy(part, w, static_cast<std::size_t>(n * C::kBytes));
    return weights(part);
  }

  template <int R>
  static __attribute__((noinline)) void direct_blocks(const LinearArgs& a, std::int64_t c) {
    W acc[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) acc[r] = W::zero();
    const float* x = reinterpret_cast<const float*>(a.x + a.row0 * a.x_stride);
    const std::byte* w = a.w + c * a.w_stride;
    Ahead<Arch> ahead(a, a.row0, c, R);
    for (std::int64_t k = 0; k < a.k; k += C::kBlockElems, w += C::kBlockBytes) {
      ahead.template next<R * C::kBlockBytes>();
#pragma GCC unroll 16
      for (int i = 0; i < C::kBlockElems; i += 16, x += 16) {
        const W xs = W::load(x);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
          const std::byte* const block = w + r * a.w_stride;
          const W ws = W::of([=](int lane) __attribute__((always_inline)) {
            return C::values(block, i + lane);
          });
          acc[r] = acc[r].plus(ws, xs);
        }
      }
    }
    for (int r = 0; r < R; ++r) Epilogue<Arch>::store(a, a.row0, c + r, acc[r].sum());
  }

  template <int R>
  static __attribute__((noinline)) void pieces(const LinearArgs& a, std::int64_t c) {
    float* const sums = reinterpret_cast<float*>(a.scratch);  // [tokens][R][kSum]
    float* const panel = sums + kTokens * kTile * kSum;       // [R][kPiece]
    for (std::int64_t t0 = a.row0; t0 < a.row1; t0 += kTokens) {
      const std::int64_t n = t0 + kTokens < a.row1 ? kTokens : a.row1 - t0;
      std::memset(sums, 0, static_cast<std::size_t>(n * R * kSum) * sizeof(float));
      for (std::int64_t k = 0; k < a.k; k += kPiece) {
        const std::int64_t k1 = k + kPiece < a.k ? k + kPiece : a.k;
        const float* w[R];
        for (int r = 0; r < R; ++r)
          w[r] = piece(a, a.w + (c + r) * a.w_stride, k, k1, panel + r * kPiece);
        tokens<R>(a, w, t0, n, k, k1 - k, sums);
      }
      for (std::int64_t j = 0; j < n; ++j) {
        for (int r = 0; r < R; ++r) {
          Epilogue<Arch>::store(a, t0 + j, c + r, W::load(sums + (j * R + r) * kSum).sum());
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
    for (; j + kTokenTile <= n; j += kTokenTile)
      tile<R, kTokenTile>(w, x + j * a.x_stride, a.x_stride, n_elems, sums + j * R * kSum);
    for (; j < n; ++j) tile<R, 1>(w, x + j * a.x_stride, a.x_stride, n_elems, sums + j * R * kSum);
  }

  template <int R, int T>
  static WEFT_INLINE void tile(const float* const (&w)[R], const std::byte* x,
                               std::int64_t x_stride, std::int64_t n, float* sums) {
    W acc[T][R];
    const float* rows[T];
#pragma GCC unroll 4
    for (int j = 0; j < T; ++j) {
      rows[j] = reinterpret_cast<const float*>(x + j * x_stride);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) acc[j][r] = W::load(sums + (j * R + r) * kSum);
    }
    std::int64_t i = 0;
    for (; i + 16 <= n; i += 16) {
      add<R, T>(
          acc, [&](const float* p) __attribute__((always_inline)) { return W::load(p + i); }, w,
          rows);
    }
    if (i < n) {
      add<R, T>(
          acc, [&](const float* p) __attribute__((always_inline)) { return W::load(p + i, n - i); },
          w, rows);
    }
#pragma GCC unroll 4
    for (int j = 0; j < T; ++j) {
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) acc[j][r].store(sums + (j * R + r) * kSum);
    }
  }

  template <int R, int T, class Load>
  static WEFT_INLINE void add(W (&acc)[T][R], Load load, const float* const (&w)[R],
                              const float* const (&x)[T]) {
    W xs[T];
#pragma GCC unroll 4
    for (int j = 0; j < T; ++j) xs[j] = load(x[j]);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const W wr = load(w[r]);
#pragma GCC unroll 4
      for (int j = 0; j < T; ++j) acc[j][r] = acc[j][r].plus(wr, xs[j]);
    }
  }
};

}  // namespace weft::cpu
