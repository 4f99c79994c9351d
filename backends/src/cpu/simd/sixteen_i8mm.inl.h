#pragma once
// Sixteen (simd/sixteen.inl.h) for two tokens at once, with products of int8 matrices: 2 x 8 codes
// of rows by 8 x 2 codes of tokens.

#ifdef __ARM_FEATURE_MATMUL_INT8

namespace weft::cpu {

template <>
struct Sixteen<NeonI8mm> : Sixteen<Neon> {
  static constexpr bool kPairs = true;
  // The sums of two rows and two tokens in each register: both tokens of the first row, then of the
  // second.
  struct PairSums {
    int32x4_t v[8];
  };

  // Words of four codes each become, for two rows in each register, eight codes of one row after
  // those of the other: rows 0 to 7, rows 8 to 15.
  static WEFT_INLINE void pair_rows(Words& first, Words& second) {
    const Words low = first, high = second;
    first = {vzip1q_u32(low.a, high.a), vzip2q_u32(low.a, high.a), vzip1q_u32(low.b, high.b),
             vzip2q_u32(low.b, high.b)};
    second = {vzip1q_u32(low.c, high.c), vzip2q_u32(low.c, high.c), vzip1q_u32(low.d, high.d),
              vzip2q_u32(low.d, high.d)};
  }
  static WEFT_INLINE PairSums no_pair_sums() {
    const int32x4_t zero = vdupq_n_s32(0);
    return {{zero, zero, zero, zero, zero, zero, zero, zero}};
  }
  // Eight codes of each of two tokens.
  static WEFT_INLINE int8x16_t pair(std::uint64_t first, std::uint64_t second) {
    return vreinterpretq_s8_u64(vcombine_u64(vcreate_u64(first), vcreate_u64(second)));
  }
  // Rows 8 * half .. 8 * half + 7.
  static WEFT_INLINE void add_products(PairSums& sums, int half, Words codes, int8x16_t x) {
    const uint32x4_t rows[] = {codes.a, codes.b, codes.c, codes.d};
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      int32x4_t& sum = sums.v[4 * half + i];
      sum = vmmlaq_s32(sum, vreinterpretq_s8_u32(rows[i]), x);
    }
  }
  static WEFT_INLINE Words of_token(const PairSums& sums, int token) {
    const auto four = [&](int i) __attribute__((always_inline)) {
      const int32x4_t a = sums.v[2 * i], b = sums.v[2 * i + 1];
      return vreinterpretq_u32_s32(token == 0 ? vuzp1q_s32(a, b) : vuzp2q_s32(a, b));
    };
    return {four(0), four(1), four(2), four(3)};
  }
};

}  // namespace weft::cpu

#endif
