#pragma once

#include "cpu/kernels/linear/codec.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, BF16Weights> : ScalarCodec {
  using V = typename Simd<Arch>::V;
  static constexpr int kBytes = 2;
  static WEFT_INLINE V load(const std::byte* p) { return Simd<Arch>::load_bf16(p); }
#ifdef WEFT_SIXTEEN
  using S = Sixteen<Arch>;
  static WEFT_INLINE typename S::Floats part(typename S::Words words, int i) {
    return S::bits_to_floats(i == 0 ? S::left32(words, 16)
                                    : words & S::all32(static_cast<int>(0xffff0000)));
  }
#endif
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::scalars(row, begin, end, out);
  }
};

}  // namespace weft::cpu
