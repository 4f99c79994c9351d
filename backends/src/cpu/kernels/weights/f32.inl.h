#pragma once

#include "cpu/kernels/linear/codec.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, F32Weights> : ScalarCodec {
  using V = typename Simd<Arch>::V;
  static constexpr bool kIsF32 = true;
  static constexpr int kBytes = 4;
  static WEFT_INLINE V load(const std::byte* p) {
    return V::load_unaligned(reinterpret_cast<const float*>(p));
  }
#ifdef WEFT_SIXTEEN
  using S = Sixteen<Arch>;
  static WEFT_INLINE typename S::Floats part(typename S::Words words, int) {
    return S::bits_to_floats(words);
  }
#endif
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::scalars(row, begin, end, out);
  }
};

}  // namespace weft::cpu
