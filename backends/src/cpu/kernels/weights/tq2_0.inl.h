#pragma once
// TQ2_0: 64 bytes with 2 bits of four weights each, d (f16) (ops/formats/tq2_0.h).

#include "cpu/kernels/linear/codec.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, TQ2_0Weights> : BlockCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 66, kParts = 8, kOffset = 1;
  struct Header {
    float scales[8];
  };
  static WEFT_INLINE Header header(const std::byte* block) {
    const float d = Simd<Arch>::f16(block + 64);
    return {{d, d, d, d, d, d, d, d}};
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int) {
    const auto bytes = Bytes<Arch>::load(block + 32 * (kPart / 4));
    return bytes.template field<2 * (kPart % 4), 2>();
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

#ifdef WEFT_SIXTEEN
// Units: two times eight of codes. Halves: d.
template <class Arch>
struct PanelCodec<Arch, TQ2_0Weights> : PanelCodecBase<Arch> {
  using P = PanelCodecBase<Arch>;
  using typename P::S, typename P::Words, typename P::Floats;
  static constexpr int kSubs = 8, kUnits = 16, kGroups = 2, kParts = 4, kOffset = 1, kMaxCode = 3;
  static WEFT_INLINE void header(const std::byte*, const std::byte* halves, Floats* scales,
                                 Floats*) {
    const Floats d = S::load_f16(halves);
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) scales[s] = d;
  }
  static WEFT_INLINE void codes(const std::byte* block, int half, int i, Words (&out)[4]) {
    const Words bytes = P::unit(block, 8 * half + i);
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) out[p] = P::pairs(bytes, p);
  }
};
#endif

}  // namespace weft::cpu
