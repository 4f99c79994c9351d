#pragma once

#include "cpu/kernels/rows/quantize.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct QuantizeBlock {
  using V = typename Simd<Arch>::V;
  using Codes = QuantizedCodes<Arch>;
  static constexpr int kLanes = Simd<Arch>::kLanes, kVectors = 32 / kLanes;

  static WEFT_INLINE void run(const float* in, std::byte* out) {
    V x[kVectors];
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) x[i] = V::load_unaligned(in + i * kLanes);
    store(x, out);
  }

  static WEFT_INLINE void store(V (&x)[kVectors], std::byte* out) {
    const float d = Codes::largest_magnitude(x) / 127;
    divide(x, d);
    std::int32_t sums[2];
    Codes::store(x, out + 20, sums);
    const float scales[] = {d, d * static_cast<float>(sums[0] + sums[1])};
    const std::int32_t starts[] = {-128 * (sums[0] + sums[1]), -128 * sums[0], -128 * sums[1]};
    std::memcpy(out, scales, 8);
    std::memcpy(out + 8, starts, 12);
  }

  // With fused multiply-adds, a product with the reciprocal and one correction give the rounded
  // quotient, except for cases closer to the middle of two floats than 2^-23 of their distance. It
  // requires that nothing overflows or underflows.
  static WEFT_INLINE void divide(V (&x)[kVectors], float d) {
    if constexpr (kLanes > 4) {
      if (d > 0x1p-80f && d < 0x1p80f) {
        const V divisor(d), factor(1 / d);
#pragma GCC unroll 8
        for (int i = 0; i < kVectors; ++i) {
          const V q = x[i] * factor;
          x[i] = Simd<Arch>::fma(Simd<Arch>::fma(-q, divisor, x[i]), factor, q);
        }
        return;
      }
    }
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) x[i] = d != 0 ? x[i] / V(d) : V(0.0f);
  }
};

template <class Arch>
void Quantize<Arch>::run(const float* x, std::byte* y, std::int64_t n_blocks) noexcept {
  for (std::int64_t i = 0; i < n_blocks; ++i) QuantizeBlock<Arch>::run(x + 32 * i, y + 52 * i);
}

}  // namespace weft::cpu
