#pragma once
// Online softmax (Milakov & Gimelshein 2018) over blocks of 32 cells: y holds the sum of exp(score
// - largest) * v so far and is rescaled when a block brings a larger score. Lanes run along E;
// every score and every output element has one vector lane or one vector of sums, in the order of
// the cells.

#include "cpu/kernels/attention.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct KeysF32 {
  using V = typename Simd<Arch>::V;
  static constexpr int kBytes = 4;
  static WEFT_INLINE V load(const std::byte* p) {
    return V::load_unaligned(reinterpret_cast<const float*>(p));
  }
};
template <class Arch>
struct KeysF16 {
  static constexpr int kBytes = 2;
  static WEFT_INLINE typename Simd<Arch>::V load(const std::byte* p) {
    return Simd<Arch>::load_f16(p);
  }
};

template <class Arch, class Keys>
struct AttentionBlocks {
  using V = typename Simd<Arch>::V;
  using P = Part<Arch>;
  static constexpr int kLanes = Simd<Arch>::kLanes;
  static constexpr int kCells = AttentionKernels::kCells;
  static constexpr int kHeads = AttentionKernels::kHeads;
  static constexpr float kMinusInfinity = -__builtin_inff();

  static WEFT_INLINE V load_part(const std::byte* p, std::int64_t n) {
    alignas(64) std::byte part[kLanes * Keys::kBytes] = {};
    std::memcpy(part, p, static_cast<std::size_t>(n * Keys::kBytes));
    return Keys::load(part);
  }

  static WEFT_INLINE void run(const AttentionArgs& a) {
    float* const largest = a.scratch + kHeads * kCells;
    float* const sums = largest + a.n_heads;
    for (std::int64_t h = 0; h < a.n_heads; ++h) {
      largest[h] = kMinusInfinity;
      sums[h] = 0;
    }
    for (std::int64_t i = 0; i < a.n_heads * a.e_out; ++i) a.y[i] = 0;
    for (std::int64_t s = 0; s < a.n_cells; s += kCells) {
      const std::int64_t n = s + kCells < a.n_cells ? kCells : a.n_cells - s;
      std::int64_t h = 0;
      for (; h + kHeads <= a.n_heads; h += kHeads) block<kHeads>(a, h, s, n, largest + h, sums + h);
      for (; h < a.n_heads; ++h) block<1>(a, h, s, n, largest + h, sums + h);
    }
    for (std::int64_t h = 0; h < a.n_heads; ++h) {
      float* const y = a.y + h * a.e_out;
      P::map(
          a.e_out, y, y, [&](V v) __attribute__((always_inline)) { return v / V(sums[h]); });
    }
  }

  // Cells [s, s + n) for heads h .. h + H - 1.
  template <int H>
  static __attribute__((noinline)) void block(const AttentionArgs& a, std::int64_t h,
                                              std::int64_t s, std::int64_t n, float* largest,
                                              float* sums) {
    float* const p = a.scratch;  // [H][kCells]
    const std::byte* const k = a.k + s * a.k_stride;
    const float* const q = a.q + h * a.e;
    std::int64_t i = 0;
    for (; i + 2 <= n; i += 2) scores<H, 2>(a, q, k + i * a.k_stride, p + i);
    for (; i < n; ++i) scores<H, 1>(a, q, k + i * a.k_stride, p + i);
    float rescale[H];
    for (int j = 0; j < H; ++j) rescale[j] = softmax(p + j * kCells, n, largest[j], sums[j]);
    const std::byte* const v = a.v + s * a.v_stride;
    for (std::int64_t c = 0; c < a.e_out;) c += values<H>(a, v, n, rescale, a.y + h * a.e_out, c);
  }

  // p[head][cell] = scale * q . k for C cells.
  template <int H, int C>
  static WEFT_INLINE void scores(const AttentionArgs& a, const float* q, const std::byte* k,
                                 float* p) {
    V sums[H][C];
#pragma GCC unroll 4
    for (int j = 0; j < H; ++j) {
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) sums[j][c] = V(0.0f);
    }
    const auto add = [&](auto load_q, auto load_k) __attribute__((always_inline)) {
      V keys[C];
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) keys[c] = load_k(k + c * a.k_stride);
#pragma GCC unroll 4
      for (int j = 0; j < H; ++j) {
        const V qs = load_q(q + j * a.e);
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) sums[j][c] = xsimd::fma(qs, keys[c], sums[j][c]);
      }
    };
    std::int64_t i = 0;
    for (; i + kLanes <= a.e; i += kLanes) {
      add(
          [&](const float* x) __attribute__((always_inline)) { return V::load_unaligned(x + i); },
          [&](const std::byte* x)
              __attribute__((always_inline)) { return Keys::load(x + i * Keys::kBytes); });
    }
    if (i < a.e) {
      add(
          [&](const float* x) __attribute__((always_inline)) { return P::load(x + i, a.e - i); },
          [&](const std::byte* x)
              __attribute__((always_inline)) { return load_part(x + i * Keys::kBytes, a.e - i); });
    }
#pragma GCC unroll 4
    for (int j = 0; j < H; ++j) {
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) p[j * kCells + c] = a.scale * Simd<Arch>::sum(sums[j][c]);
    }
  }

  // Turns n scores into exp(score - largest), adds them to `sum` and returns the factor for what
  // was added up before.
  static WEFT_INLINE float softmax(float* p, std::int64_t n, float& largest, float& sum) {
    for (std::int64_t i = n; i < kCells; ++i) p[i] = kMinusInfinity;
    float top = largest;
    for (int i = 0; i < kCells; ++i) top = p[i] > top ? p[i] : top;
    // Nothing but -inf so far: their exponentials are 0, not exp(-inf + inf).
    const float base = top == kMinusInfinity ? 0 : top;
    V total(0.0f);
    for (int i = 0; i < kCells; i += kLanes) {
      const V e = xsimd::exp(V::load_unaligned(p + i) - V(base));
      e.store_unaligned(p + i);
      total = total + e;
    }
    alignas(64) float factor[kLanes];
    xsimd::exp(V(largest - base)).store_aligned(factor);
    largest = top;
    sum = sum * factor[0] + Simd<Arch>::sum(total);
    return factor[0];
  }

  // y[head][c ..] = y * rescale + sum over cells of p * v, for as many elements as are returned.
  template <int H>
  static WEFT_INLINE std::int64_t values(const AttentionArgs& a, const std::byte* v, std::int64_t n,
                                         const float (&rescale)[H], float* y, std::int64_t c) {
    const std::int64_t rest = a.e_out - c;
    const std::byte* const from = v + c * Keys::kBytes;
    if (rest >= 2 * kLanes) {
      add_values<H, 2>(
          a, from, n, rescale, y + c, [](const std::byte* x, int i) __attribute__((always_inline)) {
            return Keys::load(x + i * kLanes * Keys::kBytes);
          });
      return 2 * kLanes;
    }
    if (rest >= kLanes) {
      add_values<H, 1>(
          a, from, n, rescale, y + c,
          [](const std::byte* x, int) __attribute__((always_inline)) { return Keys::load(x); });
      return kLanes;
    }
    alignas(64) float part[H * kLanes];
    for (int j = 0; j < H; ++j) P::load(y + j * a.e_out + c, rest).store_aligned(part + j * kLanes);
    AttentionArgs narrow = a;
    narrow.e_out = kLanes;
    add_values<H, 1>(
        narrow, from, n, rescale,
        part, [&](const std::byte* x, int) __attribute__((always_inline)) {
          return load_part(x, rest);
        });
    for (int j = 0; j < H; ++j)
      P::store(V::load_aligned(part + j * kLanes), y + j * a.e_out + c, rest);
    return rest;
  }

  template <int H, int W, class Load>
  static WEFT_INLINE void add_values(const AttentionArgs& a, const std::byte* v, std::int64_t n,
                                     const float (&rescale)[H], float* y, Load load) {
    V sums[H][W];
#pragma GCC unroll 4
    for (int j = 0; j < H; ++j) {
#pragma GCC unroll 2
      for (int w = 0; w < W; ++w)
        sums[j][w] = V::load_unaligned(y + j * a.e_out + w * kLanes) * V(rescale[j]);
    }
    for (std::int64_t s = 0; s < n; ++s) {
      V values[W];
#pragma GCC unroll 2
      for (int w = 0; w < W; ++w) values[w] = load(v + s * a.v_stride, w);
#pragma GCC unroll 4
      for (int j = 0; j < H; ++j) {
        const V p(a.scratch[j * kCells + s]);
#pragma GCC unroll 2
        for (int w = 0; w < W; ++w) sums[j][w] = xsimd::fma(p, values[w], sums[j][w]);
      }
    }
#pragma GCC unroll 4
    for (int j = 0; j < H; ++j) {
#pragma GCC unroll 2
      for (int w = 0; w < W; ++w) sums[j][w].store_unaligned(y + j * a.e_out + w * kLanes);
    }
  }
};

template <class Arch>
struct AttentionFunctions {
  static void f32(const AttentionArgs& a) noexcept { AttentionBlocks<Arch, KeysF32<Arch>>::run(a); }
  static void f16(const AttentionArgs& a) noexcept { AttentionBlocks<Arch, KeysF16<Arch>>::run(a); }
};

template <class Arch>
AttentionKernels Attention<Arch>::run() noexcept {
  return {.f32 = &AttentionFunctions<Arch>::f32, .f16 = &AttentionFunctions<Arch>::f16};
}

}  // namespace weft::cpu
