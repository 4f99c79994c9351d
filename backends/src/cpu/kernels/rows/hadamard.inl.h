#pragma once
// Pairs at distances within a vector are added by shuffles, those up to kInRegisters vectors in
// registers, and others in memory.

#include "cpu/kernels/rows/hadamard.h"
#include "cpu/simd/butterfly.inl.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct HadamardFunctions {
  using V = typename Simd<Arch>::V;
  using P = Part<Arch>;
  static constexpr int kLanes = Simd<Arch>::kLanes;
  static constexpr int kInRegisters = 8;  // vectors

  static void run(const HadamardArgs& a) noexcept {
    const auto of_heads = [&](auto f) __attribute__((always_inline)) {
      for (std::int64_t h = 0; h < a.n_heads; ++h) f(a.x + h * a.e, a.y + h * a.e);
    };
    switch (a.n / kLanes) {
      case 0:
        return of_heads([&](const float* x, float* y) __attribute__((always_inline)) {
          less_than_a_vector(x, y, a.n, a.factor);
        });
      case 1:
        return of_heads([&](const float* x, float* y)
                            __attribute__((always_inline)) { vectors<1>(x, y, a.factor); });
      case 2:
        return of_heads([&](const float* x, float* y)
                            __attribute__((always_inline)) { vectors<2>(x, y, a.factor); });
      case 4:
        return of_heads([&](const float* x, float* y)
                            __attribute__((always_inline)) { vectors<4>(x, y, a.factor); });
      case 8:
        return of_heads([&](const float* x, float* y)
                            __attribute__((always_inline)) { vectors<8>(x, y, a.factor); });
      default:
        return of_heads([&](const float* x, float* y)
                            __attribute__((always_inline)) { in_memory(x, y, a.n, a.factor); });
    }
  }

  // The distances below `n`.
  static WEFT_INLINE V within(V v, std::int64_t n) {
    if (n > 1) v = Butterfly<Arch>::template run<1>(v);
    if (n > 2) v = Butterfly<Arch>::template run<2>(v);
    if constexpr (kLanes > 4) {
      if (n > 4) v = Butterfly<Arch>::template run<4>(v);
    }
    if constexpr (kLanes > 8) {
      if (n > 8) v = Butterfly<Arch>::template run<8>(v);
    }
    return v;
  }

  static WEFT_INLINE void less_than_a_vector(const float* x, float* y, std::int64_t n,
                                             float factor) {
    P::store(within(P::load(x, n), n) * V(factor), y, n);
  }

  template <int N>
  static WEFT_INLINE void vectors(const float* x, float* y, float factor) {
    V r[N];
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) r[i] = within(V::load_unaligned(x + i * kLanes), kLanes);
#pragma GCC unroll 3
    for (int d = 1; d < N; d *= 2) {
#pragma GCC unroll 8
      for (int i = 0; i < N; ++i) {
        if (i & d) continue;
        const V a = r[i], b = r[i + d];
        r[i] = a + b;
        r[i + d] = a - b;
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < N; ++i) (r[i] * V(factor)).store_unaligned(y + i * kLanes);
  }

  static WEFT_INLINE void in_memory(const float* x, float* y, std::int64_t n, float factor) {
    constexpr std::int64_t kFirst = kInRegisters * kLanes;
    for (std::int64_t i = 0; i < n; i += kFirst) vectors<kInRegisters>(x + i, y + i, 1);
    for (std::int64_t d = kFirst; d < n; d *= 2) {
      const V last(2 * d == n ? factor : 1);
      for (std::int64_t begin = 0; begin < n; begin += 2 * d) {
        for (std::int64_t i = begin; i < begin + d; i += kLanes) {
          const V a = V::load_unaligned(y + i), b = V::load_unaligned(y + i + d);
          ((a + b) * last).store_unaligned(y + i);
          ((a - b) * last).store_unaligned(y + i + d);
        }
      }
    }
  }
};

template <class Arch>
typename Hadamard<Arch>::Run Hadamard<Arch>::run() noexcept {
  return &HadamardFunctions<Arch>::run;
}

}  // namespace weft::cpu
