#pragma once
// Traits of Armv8-A, and code shared by all its sets: 128-bit vectors.

#ifdef __ARM_NEON

#include <arm_neon.h>
#include <xsimd/xsimd.hpp>

// xsimd 8 approximates these, as 32-bit Arm must.
namespace xsimd::kernel {

template <>
inline batch<float, neon64> div<neon64>(const batch<float, neon64>& a,
                                        const batch<float, neon64>& b,
                                        requires_arch<neon>) noexcept {
  return vdivq_f32(a, b);
}
template <>
inline batch<float, neon64> sqrt<neon64>(const batch<float, neon64>& x,
                                         requires_arch<neon>) noexcept {
  return vsqrtq_f32(x);
}

}  // namespace xsimd::kernel

namespace weft::cpu {

template <>
struct Simd<Armv8> {
  using V = xsimd::batch<float, xsimd::neon64>;
  static constexpr int kLanes = 4;

  static WEFT_INLINE uint8x8_t eight_bytes(const void* p) {
    return vld1_u8(static_cast<const std::uint8_t*>(p));
  }
  static WEFT_INLINE uint32x4_t four_bytes(const std::byte* p) {  // one in each lane
    std::uint32_t four;
    std::memcpy(&four, p, 4);
    return vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(four))));
  }

  static WEFT_INLINE V fma(V a, V b, V c) { return V(vfmaq_f32(c, a, b)); }
  static WEFT_INLINE V low_bits_to_exponent(V v) {
    return V(vreinterpretq_f32_u32(vshlq_n_u32(vreinterpretq_u32_f32(v), 23)));
  }
  static WEFT_INLINE V load_f16(const void* p) {
    return V(vcvt_f32_f16(vreinterpret_f16_u8(eight_bytes(p))));
  }
  static WEFT_INLINE void store_f16(V v, void* p) {
    vst1_u8(static_cast<std::uint8_t*>(p), vreinterpret_u8_f16(vcvt_f16_f32(v)));
  }
  static WEFT_INLINE V load_bf16(const void* p) {
    return V(vreinterpretq_f32_u32(vshll_n_u16(vreinterpret_u16_u8(eight_bytes(p)), 16)));
  }
  static WEFT_INLINE float f16(const void* p) {
    std::uint16_t half;
    std::memcpy(&half, p, 2);
    return vgetq_lane_f32(vcvt_f32_f16(vreinterpret_f16_u16(vdup_n_u16(half))), 0);
  }
  static WEFT_INLINE float root(float x) { return vget_lane_f32(vsqrt_f32(vdup_n_f32(x)), 0); }
  static WEFT_INLINE float sum(float32x4_t v) {
    const float32x2_t pairs = vadd_f32(vget_low_f32(v), vget_high_f32(v));
    return vget_lane_f32(pairs, 0) + vget_lane_f32(pairs, 1);
  }
  static WEFT_INLINE float max(float32x4_t v) { return vmaxvq_f32(v); }
  static WEFT_INLINE V swap_pairs(V v) { return V(vrev64q_f32(v)); }
  static WEFT_INLINE V firsts(V v) { return V(vtrn1q_f32(v, v)); }
  static WEFT_INLINE V seconds(V v) { return V(vtrn2q_f32(v, v)); }
  static WEFT_INLINE V firsts(V a, V b) { return V(vuzp1q_f32(a, b)); }
  static WEFT_INLINE V seconds(V a, V b) { return V(vuzp2q_f32(a, b)); }
  static WEFT_INLINE V negate_firsts(V v) {
    const uint32x4_t signs = vreinterpretq_u32_u64(vdupq_n_u64(0x80000000));
    return V(vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(v), signs)));
  }
  static WEFT_INLINE V load_part(const float* p, std::int64_t n) {
    if (n & 4) return V(vld1q_f32(p));
    float32x2_t low = vdup_n_f32(0), high = vdup_n_f32(0);
    if (n & 2) low = vld1_f32(p);
    if (n & 1) (n & 2 ? high : low) = vset_lane_f32(p[n - 1], vdup_n_f32(0), 0);
    return V(vcombine_f32(low, high));
  }
  static WEFT_INLINE void store_part(V v, float* p, std::int64_t n) {
    if (n & 4) return vst1q_f32(p, v);
    float32x2_t rest = vget_low_f32(v);
    if (n & 2) {
      vst1_f32(p, rest);
      rest = vget_high_f32(v);
    }
    if (n & 1) p[n - 1] = vget_lane_f32(rest, 0);
  }
  static WEFT_INLINE void store_truncated(V v, std::int32_t* p) { vst1q_s32(p, vcvtq_s32_f32(v)); }
  static WEFT_INLINE V from_i8(const std::byte* p) {
    const int32x4_t shifted = vreinterpretq_s32_u32(vshlq_n_u32(four_bytes(p), 24));
    return V(vcvtq_f32_s32(vshrq_n_s32(shifted, 24)));
  }
  static WEFT_INLINE V from_nibbles(const std::byte* p, bool high) {
    const uint32x4_t wide = four_bytes(p);
    return V(vcvtq_f32_u32(high ? vshrq_n_u32(wide, 4) : vandq_u32(wide, vdupq_n_u32(15))));
  }
};

template <class Arch>
struct Bytes {
  uint8x16_t low, high;

  static WEFT_INLINE uint8x16_t load16(const std::byte* p) {
    return vld1q_u8(reinterpret_cast<const std::uint8_t*>(p));
  }
  static WEFT_INLINE Bytes load(const std::byte* p) { return {load16(p), load16(p + 16)}; }
  WEFT_INLINE void store(std::byte* p) const {
    vst1q_u8(reinterpret_cast<std::uint8_t*>(p), low);
    vst1q_u8(reinterpret_cast<std::uint8_t*>(p) + 16, high);
  }
  static WEFT_INLINE Bytes load_nibbles(const std::byte* p) {
    const uint8x16_t b = load16(p);
    return {vandq_u8(b, vdupq_n_u8(15)), vshrq_n_u8(b, 4)};
  }
  // All bits of a byte, if its bit in the low 16 is set.
  static WEFT_INLINE uint8x16_t mask16(std::uint32_t bits) {
    const uint8x16_t each = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201));
    const auto low = static_cast<std::uint8_t>(bits), high = static_cast<std::uint8_t>(bits >> 8);
    return vtstq_u8(vcombine_u8(vdup_n_u8(low), vdup_n_u8(high)), each);
  }
  template <int kTo>
  static WEFT_INLINE Bytes bits(std::uint32_t bits) {
    const uint8x16_t bit = vdupq_n_u8(1 << kTo);
    return {vandq_u8(mask16(bits), bit), vandq_u8(mask16(bits >> 16), bit)};
  }
  WEFT_INLINE Bytes swap_middle_eights() const {
    const uint64x2_t a = vreinterpretq_u64_u8(low), b = vreinterpretq_u64_u8(high);
    return {vreinterpretq_u8_u64(vzip1q_u64(a, b)), vreinterpretq_u8_u64(vzip2q_u64(a, b))};
  }
  template <int kShift, int kBits, int kTo = 0>
  WEFT_INLINE Bytes field() const {
    return {field<kShift, kBits, kTo>(low), field<kShift, kBits, kTo>(high)};
  }
  template <int kShift, int kBits, int kTo>
  static WEFT_INLINE uint8x16_t field(uint8x16_t v) {
    if constexpr (kShift > kTo) v = vshrq_n_u8(v, kShift - kTo);
    if constexpr (kShift < kTo) v = vshlq_n_u8(v, kTo - kShift);
    return vandq_u8(v, vdupq_n_u8(((1 << kBits) - 1) << kTo));
  }
  WEFT_INLINE Bytes operator|(Bytes o) const {
    return {vorrq_u8(low, o.low), vorrq_u8(high, o.high)};
  }
  WEFT_INLINE Bytes minus(int n) const {
    const uint8x16_t v = vdupq_n_u8(static_cast<std::uint8_t>(n));
    return {vsubq_u8(low, v), vsubq_u8(high, v)};
  }

  WEFT_INLINE void to_floats(Simd<Armv8>::V (&out)[8]) const {
    to_floats(low, out);
    to_floats(high, out + 4);
  }
  static WEFT_INLINE void sixteen_to_floats(const std::byte* p, Simd<Armv8>::V* out) {
    to_floats(load16(p), out);
  }
  static WEFT_INLINE void to_floats(uint8x16_t b, Simd<Armv8>::V* out) {
    const int8x16_t codes = vreinterpretq_s8_u8(b);
    const int16x8_t words[] = {vmovl_s8(vget_low_s8(codes)), vmovl_high_s8(codes)};
    for (int i = 0; i < 2; ++i) {
      out[2 * i] = Simd<Armv8>::V(vcvtq_f32_s32(vmovl_s16(vget_low_s16(words[i]))));
      out[2 * i + 1] = Simd<Armv8>::V(vcvtq_f32_s32(vmovl_high_s16(words[i])));
    }
  }
};

template <class Arch>
struct Lookup {
  using B = Bytes<Arch>;

  template <const auto& kValues, int kOffset>
  static WEFT_INLINE uint8x16_t table() {
    constexpr std::uint64_t kLow = TableWord<kValues>::from(0, kOffset);
    constexpr std::uint64_t kHigh = TableWord<kValues>::from(8, kOffset);
    return vcombine_u8(vcreate_u8(kLow), vcreate_u8(kHigh));
  }
  template <const auto& kValues>
  static WEFT_INLINE B sixteens(B nibbles) {
    const uint8x16_t values = table<kValues, 0>();
    return {vqtbl1q_u8(values, nibbles.low), vqtbl1q_u8(values, nibbles.high)};
  }
  static WEFT_INLINE B e2m1(B nibbles) { return sixteens<kE2M1Doubled>(nibbles); }
  static WEFT_INLINE B eights(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
    return {vcombine_u8(vcreate_u8(a), vcreate_u8(b)), vcombine_u8(vcreate_u8(c), vcreate_u8(d))};
  }
  static WEFT_INLINE B fours(const std::int32_t (&p)[8]) {
    return {vreinterpretq_u8_s32(vld1q_s32(p)), vreinterpretq_u8_s32(vld1q_s32(p + 4))};
  }
  static WEFT_INLINE B all(int value) {
    const uint8x16_t v = vdupq_n_u8(static_cast<std::uint8_t>(value));
    return {v, v};
  }
  static WEFT_INLINE B negate(B b, std::uint32_t signs) {
    return {negate(b.low, B::mask16(signs)), negate(b.high, B::mask16(signs >> 16))};
  }
  static WEFT_INLINE uint8x16_t negate(uint8x16_t b, uint8x16_t mask) {
    return vsubq_u8(veorq_u8(b, mask), mask);
  }
  static WEFT_INLINE B pairs(std::uint64_t codes) {
    return {pairs16(static_cast<std::uint32_t>(codes)),
            pairs16(static_cast<std::uint32_t>(codes >> 32))};
  }
  static WEFT_INLINE uint8x16_t pairs16(std::uint32_t codes) {
    const uint8x16_t byte_of =
        vcombine_u8(vcreate_u8(0x0101010100000000), vcreate_u8(0x0303030302020202));
    const uint8x16_t four = vqtbl1q_u8(vreinterpretq_u8_u32(vdupq_n_u32(codes)), byte_of);
    const int8x16_t down = vreinterpretq_s8_u32(vdupq_n_u32(0xfafcfe00));  // by 0, 2, 4, 6
    const uint8x16_t two = vandq_u8(vshlq_u8(four, down), vdupq_n_u8(3));
    return vsubq_u8(two, vdupq_n_u8(1));
  }
  static WEFT_INLINE B thrice(B b) { return {thrice(b.low), thrice(b.high)}; }
  static WEFT_INLINE uint8x16_t thrice(uint8x16_t b) { return vmulq_u8(b, vdupq_n_u8(3)); }
  static WEFT_INLINE B trits(B b) { return {trits(b.low), trits(b.high)}; }
  static WEFT_INLINE uint8x16_t trits(uint8x16_t b) {
    const uint8x16_t below = vaddq_u8(vcltq_u8(b, vdupq_n_u8(86)), vcltq_u8(b, vdupq_n_u8(171)));
    return vaddq_u8(below, vdupq_n_u8(1));
  }
  static WEFT_INLINE B eightfold(B b, B addend) {
    return {vaddq_u8(vshlq_n_u8(b.low, 3), addend.low),
            vaddq_u8(vshlq_n_u8(b.high, 3), addend.high)};
  }
};

template <>
struct Quarters<Armv8> {
  using R = float32x4_t;
  static WEFT_INLINE R low(R a, R b) { return vzip1q_f32(a, b); }
  static WEFT_INLINE R high(R a, R b) { return vzip2q_f32(a, b); }
  static WEFT_INLINE R low_pairs(R a, R b) {
    return vcombine_f32(vget_low_f32(a), vget_low_f32(b));
  }
  static WEFT_INLINE R high_pairs(R a, R b) {
    return vcombine_f32(vget_high_f32(a), vget_high_f32(b));
  }
};

template <class Arch>
struct QuantizedCodes {
  using V = Simd<Armv8>::V;

  static WEFT_INLINE int32x4_t rounded(float32x4_t x) {
    const int32x4_t codes = vcvtnq_s32_f32(x);
    return vbslq_s32(vceqq_f32(x, x), codes, vdupq_n_s32(-127));  // a NaN converts to 0
  }
  static WEFT_INLINE int8x16_t pack(const V* x) {
    const int16x8_t low = vqmovn_high_s32(vqmovn_s32(rounded(x[0])), rounded(x[1]));
    const int16x8_t high = vqmovn_high_s32(vqmovn_s32(rounded(x[2])), rounded(x[3]));
    return vmaxq_s8(vqmovn_high_s16(vqmovn_s16(low), high), vdupq_n_s8(-127));
  }
  static WEFT_INLINE void store(const V (&x)[8], std::byte* out, std::int32_t (&sums)[2]) {
    for (int half = 0; half < 2; ++half) {
      const int8x16_t codes = pack(x + 4 * half);
      vst1q_s8(reinterpret_cast<std::int8_t*>(out) + 16 * half, codes);
      sums[half] = vaddlvq_s8(codes);
    }
  }
  static WEFT_INLINE float largest_magnitude(const V (&x)[8]) {
    const uint32x4_t magnitude = vdupq_n_u32(0x7fffffff);
    uint32x4_t m = vdupq_n_u32(0);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) m = vmaxq_u32(m, vandq_u32(vreinterpretq_u32_f32(x[i]), magnitude));
    const std::uint32_t bits = vmaxvq_u32(m);
    float largest;
    std::memcpy(&largest, &bits, 4);
    return largest;
  }
};

}  // namespace weft::cpu

#endif
