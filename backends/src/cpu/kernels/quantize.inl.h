#pragma once

#include "cpu/kernels/quantize.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct QuantizeBlock {
  using V = typename Simd<Arch>::V;
  using I = xsimd::batch<std::int32_t, typename V::arch_type>;
  static constexpr int kLanes = Simd<Arch>::kLanes;

  // As bits: magnitudes of floats are ordered like integers, and a NaN lies above all of them.
  static WEFT_INLINE float largest_magnitude(const V (&x)[32 / kLanes]) {
    const I magnitude(0x7fffffff);
    I largest(0);
#pragma GCC unroll 8
    for (int i = 0; i < 32 / kLanes; ++i)
      largest = xsimd::max(largest, xsimd::bitwise_cast<I>(x[i]) & magnitude);
    alignas(64) std::int32_t lanes[kLanes];
    largest.store_aligned(lanes);
    std::int32_t bits = 0;
    for (int i = 0; i < kLanes; ++i) bits = lanes[i] > bits ? lanes[i] : bits;
    float result;
    std::memcpy(&result, &bits, sizeof(result));
    return result;
  }

  static WEFT_INLINE void run(const float* in, std::byte* out) {
    V x[32 / kLanes];
#pragma GCC unroll 8
    for (int i = 0; i < 32 / kLanes; ++i) x[i] = V::load_unaligned(in + i * kLanes);
    const float d = largest_magnitude(x) / 127;
    std::int32_t codes[32] = {};
    if (d != 0) {
#pragma GCC unroll 8
      for (int i = 0; i < 32 / kLanes; ++i) Simd<Arch>::store_i32(x[i] / V(d), codes + i * kLanes);
    }
    std::int8_t bytes[32];
    std::int32_t sums[2] = {};
    for (int i = 0; i < 32; ++i) {
      std::int32_t code = codes[i] < 127 ? codes[i] : 127;
      code = code > -127 ? code : -127;
      bytes[i] = static_cast<std::int8_t>(code);
      sums[i / 16] += code;
    }
    const float scales[] = {d, d * static_cast<float>(sums[0] + sums[1])};
    const std::int32_t starts[] = {-128 * (sums[0] + sums[1]), -128 * sums[0], -128 * sums[1]};
    std::memcpy(out, scales, 8);
    std::memcpy(out + 8, starts, 12);
    std::memcpy(out + 20, bytes, 32);
  }
};

template <class Arch>
void Quantize<Arch>::run(const float* x, std::byte* y, std::int64_t n_blocks) noexcept {
  for (std::int64_t i = 0; i < n_blocks; ++i) QuantizeBlock<Arch>::run(x + 32 * i, y + 52 * i);
}

}  // namespace weft::cpu
