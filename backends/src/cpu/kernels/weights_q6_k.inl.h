#pragma once
// Q6_K: ql[128], qh[64], 16 scales (i8), d (f16). A half of 128 weights has 64 bytes of ql and 32
// of qh; its quarter p takes the low or high nibbles of 32 bytes of ql and bits 2p, 2p + 1 of qh
// (ops/formats/q6_k.h).

#include "cpu/kernels/weights.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, Q6_KWeights> : BlockCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 210, kGroups = 2, kParts = 4, kOffset = 32;
  static constexpr bool kTwoScales = true;
  struct Header {
    float scales[16];
  };

  static WEFT_INLINE Header header(const std::byte* block) {
    using V = typename Simd<Arch>::V;
    constexpr int kLanes = Simd<Arch>::kLanes;
    alignas(32) std::byte bytes[32] = {};
    std::memcpy(bytes, block + 192, 16);
    V values[32 / kLanes];
    Bytes<Arch>::load(bytes).to_floats(values);
    const V d(Simd<Arch>::f16(block + 208));
    Header h;
#pragma GCC unroll 4
    for (int i = 0; i < 16 / kLanes; ++i) (values[i] * d).store_unaligned(h.scales + i * kLanes);
    return h;
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int half) {
    const auto low = Bytes<Arch>::load(block + 64 * half + 32 * (kPart % 2))
                         .template field<4 * (kPart / 2), 4>();
    const auto high = Bytes<Arch>::load(block + 128 + 32 * half).template field<2 * kPart, 2, 4>();
    return low | high;
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

}  // namespace weft::cpu
