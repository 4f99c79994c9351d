#pragma once
// Sixteen (simd/sixteen.inl.h) in four registers of 128 bits, with Armv8-A.

#ifdef __ARM_NEON

namespace weft::cpu {

// Four registers, the elements of the first four rows first.
template <class Q>
struct [[gnu::may_alias]] FourRegisters {
  Q a, b, c, d;

  WEFT_INLINE FourRegisters operator&(FourRegisters o) const {
    return {a & o.a, b & o.b, c & o.c, d & o.d};
  }
  WEFT_INLINE FourRegisters operator|(FourRegisters o) const {
    return {a | o.a, b | o.b, c | o.c, d | o.d};
  }
  WEFT_INLINE FourRegisters operator^(FourRegisters o) const {
    return {a ^ o.a, b ^ o.b, c ^ o.c, d ^ o.d};
  }
  WEFT_INLINE FourRegisters operator+(FourRegisters o) const {
    return {a + o.a, b + o.b, c + o.c, d + o.d};
  }
  WEFT_INLINE FourRegisters operator*(FourRegisters o) const {
    return {a * o.a, b * o.b, c * o.c, d * o.d};
  }
};

// As PairSums (simd/sixteen_avx2.inl.h): products stay in 16 bits as long as their sums cannot
// overflow.
template <class S, bool kFrom, int kMaxCode, int kLength>
struct LongSums {
  static constexpr int kFitting = 32767 / (127 * kMaxCode);
  static constexpr int kChain = kFitting >= kLength ? kLength : kFitting >= 4 ? 4 : kFitting;
  static_assert(kChain >= 1 && kLength % kChain == 0);
  static constexpr int kAtOnce = 1;

  typename S::Words sum;
  FourRegisters<int16x8_t> low, high;  // products of the low and the high half of each register

  template <class F>
  WEFT_INLINE void start(F) {}
  WEFT_INLINE void add(int i, typename S::Words w, typename S::Shared x) {
    if (i % kChain == 0) {
      low = S::each(
          [=](auto v) __attribute__((always_inline)) { return S::low_products(v, x); }, w);
      high = S::each(
          [=](auto v) __attribute__((always_inline)) { return S::high_products(v, x); }, w);
    } else {
      low = S::each(
          [=](auto v, auto p)
              __attribute__((always_inline)) { return S::add_low_products(p, v, x); },
          w, low);
      high = S::each(
          [=](auto v, auto p)
              __attribute__((always_inline)) { return S::add_high_products(p, v, x); },
          w, high);
    }
    if (i % kChain < kChain - 1) return;
    const auto words = S::each(
        [](int16x8_t l, int16x8_t h) __attribute__((always_inline)) {
          return vreinterpretq_u32_s32(vpaddq_s32(vpaddlq_s16(l), vpaddlq_s16(h)));
        },
        low, high);
    sum = i < kChain ? words : S::add32(sum, words);
  }
  template <class F>
  WEFT_INLINE typename S::Words total(F from) const {
    if constexpr (kFrom) return S::add32(sum, from());
    return sum;
  }
};

template <>
struct Sixteen<Armv8> {
  using Words = FourRegisters<uint32x4_t>;
  using Floats = FourRegisters<float32x4_t>;
  using Shared = int8x16_t;

  static constexpr int kRaise = 0;
  static constexpr int kTile = 2, kSums = 4, kDirectTile = 1, kMaxDirect = 16, kDirectParts = 8;
  static constexpr bool kAccumulates = false;
  static constexpr bool kPairs = false;

  template <bool kFrom, int kMaxCode, bool, int kLength, class Arch>
  using Sums = LongSums<Sixteen<Arch>, kFrom, kMaxCode, kLength>;

  // f of each register of the arguments.
  template <class F, class... W>
  static WEFT_INLINE auto each(F f, W... w) {
    return FourRegisters<decltype(f(w.a...))>{f(w.a...), f(w.b...), f(w.c...), f(w.d...)};
  }

  static WEFT_INLINE uint8x16_t load128(const std::byte* p) {
    return vld1q_u8(reinterpret_cast<const std::uint8_t*>(p));
  }
  static WEFT_INLINE uint32x4_t load_words(const std::byte* p) {
    return vreinterpretq_u32_u8(load128(p));
  }
  static WEFT_INLINE Words load(const std::byte* p) {
    return {load_words(p), load_words(p + 16), load_words(p + 32), load_words(p + 48)};
  }
  static WEFT_INLINE Words load_bytes(const std::byte* p) {
    const uint8x16_t bytes = load128(p);
    const uint16x8_t low = vmovl_u8(vget_low_u8(bytes)), high = vmovl_high_u8(bytes);
    return {vmovl_u16(vget_low_u16(low)), vmovl_high_u16(low), vmovl_u16(vget_low_u16(high)),
            vmovl_high_u16(high)};
  }
  static WEFT_INLINE Floats load_f16(const std::byte* p) {
    const float16x8_t low = vreinterpretq_f16_u8(load128(p)),
                      high = vreinterpretq_f16_u8(load128(p + 16));
    return {vcvt_f32_f16(vget_low_f16(low)), vcvt_high_f32_f16(low),
            vcvt_f32_f16(vget_low_f16(high)), vcvt_high_f32_f16(high)};
  }
  static WEFT_INLINE Floats load_floats(const float* p) {
    return {vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
  }
  static WEFT_INLINE void store(float* p, Floats v) {
    vst1q_f32(p, v.a);
    vst1q_f32(p + 4, v.b);
    vst1q_f32(p + 8, v.c);
    vst1q_f32(p + 12, v.d);
  }
  static WEFT_INLINE void store128(std::byte* p, uint8x16_t v) {
    vst1q_u8(reinterpret_cast<std::uint8_t*>(p), v);
  }
  static WEFT_INLINE void store(std::byte* p, Words v) {
    store128(p, vreinterpretq_u8_u32(v.a));
    store128(p + 16, vreinterpretq_u8_u32(v.b));
    store128(p + 32, vreinterpretq_u8_u32(v.c));
    store128(p + 48, vreinterpretq_u8_u32(v.d));
  }
  template <int kBytes>
  static WEFT_INLINE void store_low(std::byte* p, Words v) {
    const uint16x8_t low = vuzp1q_u16(vreinterpretq_u16_u32(v.a), vreinterpretq_u16_u32(v.b)),
                     high = vuzp1q_u16(vreinterpretq_u16_u32(v.c), vreinterpretq_u16_u32(v.d));
    const uint8x16_t bytes[] = {vreinterpretq_u8_u16(low), vreinterpretq_u8_u16(high)};
    if constexpr (kBytes == 2) {
      store128(p, bytes[0]);
      store128(p + 16, bytes[1]);
    } else {
      store128(p, vuzp1q_u8(bytes[0], bytes[1]));
    }
  }
  template <class Row>
  static WEFT_INLINE void from_rows(Row row, Words (&out)[4]) {
    uint32x4_t quads[4][4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) from_four(row, 4 * i, quads[i]);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) out[i] = {quads[0][i], quads[1][i], quads[2][i], quads[3][i]};
  }
  template <class Row>
  static WEFT_INLINE void from_four(Row row, int first, uint32x4_t (&out)[4]) {
    uint32x4_t v[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) v[i] = load_words(row(first + i));
    const uint64x2_t a = vreinterpretq_u64_u32(vtrn1q_u32(v[0], v[1])),
                     b = vreinterpretq_u64_u32(vtrn2q_u32(v[0], v[1])),
                     c = vreinterpretq_u64_u32(vtrn1q_u32(v[2], v[3])),
                     d = vreinterpretq_u64_u32(vtrn2q_u32(v[2], v[3]));
    out[0] = vreinterpretq_u32_u64(vtrn1q_u64(a, c));
    out[1] = vreinterpretq_u32_u64(vtrn1q_u64(b, d));
    out[2] = vreinterpretq_u32_u64(vtrn2q_u64(a, c));
    out[3] = vreinterpretq_u32_u64(vtrn2q_u64(b, d));
  }
  static WEFT_INLINE Shared shared(std::int32_t word) {
    return vreinterpretq_s8_s32(vdupq_n_s32(word));
  }
  template <class Q>
  static WEFT_INLINE FourRegisters<Q> four(Q v) {
    return {v, v, v, v};
  }
  static WEFT_INLINE Words all32(std::int32_t n) {
    return four(vreinterpretq_u32_s32(vdupq_n_s32(n)));
  }
  static WEFT_INLINE Words all8(int n) {
    return four(vreinterpretq_u32_u8(vdupq_n_u8(static_cast<std::uint8_t>(n))));
  }
  static WEFT_INLINE Floats all(float x) {
    return four(vdupq_n_f32(x));
  }

  // f of vectors of another type with the same bits.
  template <class F>
  static WEFT_INLINE Words of_bytes(F f, Words v) {
    return each(
        [=](uint32x4_t r) __attribute__((always_inline)) {
          return vreinterpretq_u32_u8(f(vreinterpretq_u8_u32(r)));
        },
        v);
  }
  static WEFT_INLINE Words add8(Words a, Words b) {
    return each(
        [](uint32x4_t p, uint32x4_t q) __attribute__((always_inline)) {
          return vreinterpretq_u32_u8(vaddq_u8(vreinterpretq_u8_u32(p), vreinterpretq_u8_u32(q)));
        },
        a, b);
  }
  static WEFT_INLINE Words add32(Words a, Words b) {
    return a + b;
  }
  static WEFT_INLINE Words sub32(Words a, Words b) {
    return {a.a - b.a, a.b - b.b, a.c - b.c, a.d - b.d};
  }
  template <class F>
  static WEFT_INLINE Words of_signed(F f, Words a, Words b) {
    return each(
        [=](uint32x4_t p, uint32x4_t q) __attribute__((always_inline)) {
          return vreinterpretq_u32_s32(f(vreinterpretq_s32_u32(p), vreinterpretq_s32_u32(q)));
        },
        a, b);
  }
  static WEFT_INLINE Words min32(Words a, Words b) {
    return of_signed(
        [](int32x4_t p, int32x4_t q) __attribute__((always_inline)) { return vminq_s32(p, q); }, a,
        b);
  }
  static WEFT_INLINE Words max32(Words a, Words b) {
    return of_signed(
        [](int32x4_t p, int32x4_t q) __attribute__((always_inline)) { return vmaxq_s32(p, q); }, a,
        b);
  }
  static WEFT_INLINE Words left16(Words v, int n) {
    return each(
        [=](uint32x4_t r) __attribute__((always_inline)) {
          return vreinterpretq_u32_u16(vreinterpretq_u16_u32(r) << n);
        },
        v);
  }
  static WEFT_INLINE Words right16(Words v, int n) {
    return each(
        [=](uint32x4_t r) __attribute__((always_inline)) {
          return vreinterpretq_u32_u16(vreinterpretq_u16_u32(r) >> n);
        },
        v);
  }
  static WEFT_INLINE Words left32(Words v, int n) {
    return {v.a << n, v.b << n, v.c << n, v.d << n};
  }
  static WEFT_INLINE Words right32(Words v, int n) {
    return {v.a >> n, v.b >> n, v.c >> n, v.d >> n};
  }
  static WEFT_INLINE Words signed_right32(Words v, int n) {
    return each(
        [=](uint32x4_t r) __attribute__((always_inline)) {
          return vreinterpretq_u32_s32(vreinterpretq_s32_u32(r) >> n);
        },
        v);
  }
  static WEFT_INLINE Words or_masked(Words a, Words b, Words mask) {
    return a | (b & mask);
  }
  static WEFT_INLINE Words clear8(Words v, int n) {
    const uint8x16_t bytes = vdupq_n_u8(static_cast<std::uint8_t>(n));
    return of_bytes(
        [=](uint8x16_t r)
            __attribute__((always_inline)) { return vbicq_u8(r, vceqq_u8(r, bytes)); },
        v);
  }
  static WEFT_INLINE Words look_up(uint8x16_t table, Words numbers) {
    return of_bytes(
        [=](uint8x16_t r) __attribute__((always_inline)) { return vqtbl1q_u8(table, r); }, numbers);
  }
  static WEFT_INLINE Words trits(Words b) {
    return of_bytes(
        [](uint8x16_t r) __attribute__((always_inline)) {
          const uint8x16_t from =
              vaddq_u8(vcgeq_u8(r, vdupq_n_u8(86)), vcgeq_u8(r, vdupq_n_u8(171)));
          return vsubq_u8(vdupq_n_u8(0), from);
        },
        b);
  }

  static WEFT_INLINE std::int32_t max_of(Words v) {
    const Words w = max32(v, {v.b, v.c, v.d, v.a}), all = max32(w, {w.c, w.d, w.a, w.b});
    return vmaxvq_s32(vreinterpretq_s32_u32(all.a));
  }
  static WEFT_INLINE void pin(Words& v) {
    asm("" : "+w"(v.a), "+w"(v.b), "+w"(v.c), "+w"(v.d));
  }
  static WEFT_INLINE void store_rounded(std::int16_t* p, Floats v) {
    vst1q_s16(p, vmovn_high_s32(vmovn_s32(vcvtnq_s32_f32(v.a)), vcvtnq_s32_f32(v.b)));
    vst1q_s16(p + 8, vmovn_high_s32(vmovn_s32(vcvtnq_s32_f32(v.c)), vcvtnq_s32_f32(v.d)));
  }

  static WEFT_INLINE Floats to_floats(Words v) {
    return each(
        [](uint32x4_t r)
            __attribute__((always_inline)) { return vcvtq_f32_s32(vreinterpretq_s32_u32(r)); },
        v);
  }
  static WEFT_INLINE Floats bits_to_floats(Words v) {
    return each(
        [](uint32x4_t r) __attribute__((always_inline)) { return vreinterpretq_f32_u32(r); }, v);
  }
  static WEFT_INLINE Floats low_halves(Words v) {
    return each(
        [](uint32x4_t r) __attribute__((always_inline)) {
          return vcvt_f32_f16(vreinterpret_f16_u16(vmovn_u32(r)));
        },
        v);
  }
  static WEFT_INLINE Floats negate(Floats v) {
    const float32x4_t zero = vdupq_n_f32(0);
    return {zero - v.a, zero - v.b, zero - v.c, zero - v.d};
  }
  static WEFT_INLINE Floats fma(Floats a, Floats b, Floats c) {
    return {vfmaq_f32(c.a, a.a, b.a), vfmaq_f32(c.b, a.b, b.b), vfmaq_f32(c.c, a.c, b.c),
            vfmaq_f32(c.d, a.d, b.d)};
  }
  static WEFT_INLINE Floats fnma(Floats a, Floats b, Floats c) {
    return {vfmsq_f32(c.a, a.a, b.a), vfmsq_f32(c.b, a.b, b.b), vfmsq_f32(c.c, a.c, b.c),
            vfmsq_f32(c.d, a.d, b.d)};
  }

  // Products of the codes in the low and the high half of a register.
  static WEFT_INLINE int16x8_t low_products(uint32x4_t w, Shared x) {
    return vmull_s8(vget_low_s8(vreinterpretq_s8_u32(w)), vget_low_s8(x));
  }
  static WEFT_INLINE int16x8_t high_products(uint32x4_t w, Shared x) {
    return vmull_high_s8(vreinterpretq_s8_u32(w), x);
  }
  static WEFT_INLINE int16x8_t add_low_products(int16x8_t sum, uint32x4_t w, Shared x) {
    return vmlal_s8(sum, vget_low_s8(vreinterpretq_s8_u32(w)), vget_low_s8(x));
  }
  static WEFT_INLINE int16x8_t add_high_products(int16x8_t sum, uint32x4_t w, Shared x) {
    return vmlal_high_s8(sum, vreinterpretq_s8_u32(w), x);
  }
  // Sums of four neighbours' products; codes are within -127 .. 127.
  static WEFT_INLINE int32x4_t dot_quads(int8x16_t w, int8x16_t x) {
    const int16x8_t low = vmull_s8(vget_low_s8(w), vget_low_s8(x)), high = vmull_high_s8(w, x);
    return vpaddlq_s16(vpaddq_s16(low, high));
  }
};

#ifdef __ARM_FEATURE_DOTPROD
template <>
struct Sixteen<Neon> : Sixteen<Armv8> {
  static constexpr int kTile = 4, kDirectTile = 2;

  template <bool kFrom, int, bool, int, class Arch>
  using Sums = WordSums<Sixteen<Arch>, kFrom>;

  static WEFT_INLINE Words dot(Words sum, Words w, Shared x) {
    return each(
        [=](uint32x4_t s, uint32x4_t v) __attribute__((always_inline)) {
          return vreinterpretq_u32_s32(
              vdotq_s32(vreinterpretq_s32_u32(s), vreinterpretq_s8_u32(v), x));
        },
        sum, w);
  }
  static WEFT_INLINE int32x4_t dot_quads(int8x16_t w, int8x16_t x) {
    return vdotq_s32(vdupq_n_s32(0), w, x);
  }
};
#endif

}  // namespace weft::cpu

#endif
