#pragma once

#include "cpu/kernels/linear/to_blocks.h"
#include "cpu/simd/simd.inl.h"

namespace weft::cpu {

template <class Arch>
struct BlockOf32 {
  using V = typename Simd<Arch>::V;
  static constexpr int kLanes = Simd<Arch>::kLanes;
  static constexpr int kVecs = 32 / kLanes;

  V x[kVecs];

  static WEFT_INLINE BlockOf32 load(const float* in) {
    BlockOf32 block;
#pragma GCC unroll 8
    for (int i = 0; i < kVecs; ++i) block.x[i] = V::load_unaligned(in + i * kLanes);
    return block;
  }
  WEFT_INLINE float largest_magnitude() const {
    V top(0.0f);
#pragma GCC unroll 8
    for (int i = 0; i < kVecs; ++i) top = xsimd::max(xsimd::abs(x[i]), top);
    return Simd<Arch>::max(top);
  }
  // A scale as it will be read back: clamped to the range of f16.
  static WEFT_INLINE void store_scale(float d, std::byte* out) {
    constexpr float kMax = 65504;
    d = d > kMax ? kMax : d < -kMax ? -kMax : d;
    alignas(64) std::byte halves[2 * kLanes];
    Simd<Arch>::store_f16(V(d), halves);
    std::memcpy(out, halves, 2);
  }
  // 0 for a subnormal: it reads back as 0, and its inverse would overflow.
  static WEFT_INLINE float inverse(float d) {
    const float magnitude = d < 0 ? -d : d;
    return magnitude >= 0x1p-126f ? 1 / d : 0;
  }
  static WEFT_INLINE V truncated(V v) {
    alignas(64) std::int32_t whole[kLanes];
    Simd<Arch>::store_truncated(v, whole);
    alignas(64) float f[kLanes];
    for (int i = 0; i < kLanes; ++i) f[i] = static_cast<float>(whole[i]);
    return V::load_aligned(f);
  }
};

template <class Arch>
struct ToBlocksFunctions {
  using Block = BlockOf32<Arch>;
  using V = typename Block::V;
  static constexpr int kLanes = Block::kLanes;

  static void q8_0(const float* x, std::byte* y, std::int64_t n) noexcept {
    for (std::int64_t i0 = 0; i0 < n; i0 += 32, x += 32, y += 34) {
      const Block block = Block::load(x);
      const float d = block.largest_magnitude() / 127;
      const V inverse(Block::inverse(d));
      Block::store_scale(d, y);
      alignas(64) std::int32_t codes[32];
#pragma GCC unroll 8
      for (int i = 0; i < Block::kVecs; ++i) {
        // Rounds half away from zero: the remainder after truncation is exact, and a half or more
        // of it adds one.
        const V scaled = block.x[i] * inverse, whole = Block::truncated(scaled);
        const V twice = (scaled - whole) + (scaled - whole);
        Simd<Arch>::store_truncated(whole + Block::truncated(twice), codes + i * kLanes);
      }
      std::int8_t bytes[32];
      for (int i = 0; i < 32; ++i) {
        const std::int32_t low = codes[i] < 127 ? codes[i] : 127;
        bytes[i] = static_cast<std::int8_t>(low > -127 ? low : -127);
      }
      std::memcpy(y + 2, bytes, 32);
    }
  }

  // w = d * (q - 2^(kBits - 1)): a scale, codes.
  template <int kBits>
  static void symmetric(const float* x, std::byte* y, std::int64_t n) noexcept {
    constexpr int kZero = 1 << (kBits - 1);
    for (std::int64_t i0 = 0; i0 < n; i0 += 32, x += 32, y += 2 + kBits * 4) {
      const Block block = Block::load(x);
      const float amax = block.largest_magnitude();
      float extreme = 0;  // the first one of largest magnitude
      for (int i = 31; i >= 0 && amax > 0; --i) {
        if (x[i] == amax || -x[i] == amax) extreme = x[i];
      }
      const float d = extreme / -kZero;
      const V inverse(Block::inverse(d));
      Block::store_scale(d, y);
      alignas(64) std::int32_t codes[32];
#pragma GCC unroll 8
      for (int i = 0; i < Block::kVecs; ++i) {
        const V code = block.x[i] * inverse + V(kZero + 0.5f);
        Simd<Arch>::store_truncated(xsimd::min(V(2 * kZero - 1.0f), xsimd::max(V(0.0f), code)),
                                    codes + i * kLanes);
      }
      store_codes<kBits>(codes, y + 2);
    }
  }

  // w = d * q + m: a scale, a minimum, codes.
  template <int kBits>
  static void affine(const float* x, std::byte* y, std::int64_t n) noexcept {
    constexpr float kTop = (1 << kBits) - 1;
    for (std::int64_t i0 = 0; i0 < n; i0 += 32, x += 32, y += 4 + kBits * 4) {
      float low = x[0], high = x[0];  // of equal ones, such as zeros of both signs, the first
      for (int i = 1; i < 32; ++i) {
        low = x[i] < low ? x[i] : low;
        high = x[i] > high ? x[i] : high;
      }
      const Block block = Block::load(x);
      const float d = (high - low) / kTop;
      const V inverse(Block::inverse(d));
      Block::store_scale(d, y);
      Block::store_scale(low, y + 2);
      alignas(64) std::int32_t codes[32];
#pragma GCC unroll 8
      for (int i = 0; i < Block::kVecs; ++i) {
        const V code = (block.x[i] - V(low)) * inverse + V(0.5f);
        Simd<Arch>::store_truncated(xsimd::min(V(kTop), xsimd::max(V(0.0f), code)),
                                    codes + i * kLanes);
      }
      store_codes<kBits>(codes, y + 4);
    }
  }

  // 32 codes as fifth bits, if they have some, and nibbles.
  template <int kBits>
  static WEFT_INLINE void store_codes(const std::int32_t (&codes)[32], std::byte* y) {
    if constexpr (kBits == 5) {
      std::uint32_t fifth = 0;
      for (int i = 0; i < 32; ++i) fifth |= static_cast<std::uint32_t>(codes[i] >> 4 & 1) << i;
      std::memcpy(y, &fifth, sizeof(fifth));
      y += sizeof(fifth);
    }
    std::uint8_t bytes[16];
    for (int i = 0; i < 16; ++i)
      bytes[i] = static_cast<std::uint8_t>((codes[i] & 15) | (codes[i + 16] & 15) << 4);
    std::memcpy(y, bytes, 16);
  }
};

template <class Arch>
ToBlocksKernels ToBlocks<Arch>::run() noexcept {
  using Functions = ToBlocksFunctions<Arch>;
  return {.q8_0 = &Functions::q8_0,
          .q5_1 = &Functions::template affine<5>,
          .q5_0 = &Functions::template symmetric<5>,
          .q4_1 = &Functions::template affine<4>,
          .q4_0 = &Functions::template symmetric<4>};
}

}  // namespace weft::cpu
