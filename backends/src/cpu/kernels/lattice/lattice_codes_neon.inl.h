#pragma once
// As lattice_codes.inl.h, for Armv8-A: the codes of a sub-block are unpacked from the row.

#include "cpu/kernels/linear/codec.inl.h"
#include "cpu/simd/simd.inl.h"

#ifdef __ARM_NEON

namespace weft::cpu {

template <class Arch, class C>
struct LatticeCodes {
  using S = Sixteen<Arch>;
  using Words = typename S::Words;
  using B = Bytes<Arch>;
  using Taken = const std::byte*;

  static WEFT_INLINE void take(const std::byte* block, Taken& taken) { taken = block; }
  static WEFT_INLINE void store(Taken block, int g, int offset, std::byte* out) {
    C::template codes<0>(block, g).minus(-offset).store(out);
  }
  static WEFT_INLINE int32x4_t dot_quads(uint8x16_t codes, uint8x16_t x) {
    return S::dot_quads(vreinterpretq_s8_u8(codes), vreinterpretq_s8_u8(x));
  }
  // The products of four rows.
  static WEFT_INLINE void add_up(const Taken* rows, int g, B x, uint32x4_t (&halves)[2]) {
    int32x4_t low[4], high[4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; ++r) {
      const B codes = C::template codes<0>(rows[r], g);
      low[r] = dot_quads(codes.low, x.low);
      high[r] = dot_quads(codes.high, x.high);
    }
    halves[0] =
        vreinterpretq_u32_s32(vpaddq_s32(vpaddq_s32(low[0], low[1]), vpaddq_s32(low[2], low[3])));
    halves[1] = vreinterpretq_u32_s32(
        vpaddq_s32(vpaddq_s32(high[0], high[1]), vpaddq_s32(high[2], high[3])));
  }
  static WEFT_INLINE void dots(const Taken (&rows)[16], int g, const std::byte* x,
                               Words (&halves)[2]) {
    const B codes = B::load(x);
    uint32x4_t sums[4][2];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) add_up(rows + 4 * i, g, codes, sums[i]);
#pragma GCC unroll 2
    for (int h = 0; h < 2; ++h) halves[h] = {sums[0][h], sums[1][h], sums[2][h], sums[3][h]};
  }
};

}  // namespace weft::cpu

#endif
