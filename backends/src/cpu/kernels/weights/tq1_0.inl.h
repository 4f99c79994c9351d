#pragma once
// TQ1_0: 52 bytes with five base-3 digits (trits) each, d (f16) (ops/formats/tq1_0.h). A byte is a
// fraction: the fractional part of the byte times 3^n starts with trit n.

#include "cpu/kernels/weights/codec_iq.inl.h"

namespace weft::cpu {

template <class Arch>
struct Codec<Arch, TQ1_0Weights> : IQCodec {
  static constexpr int kBlockElems = 256, kBlockBytes = 54, kGroups = 8;
  using Header = IQHeader<Arch, 8>;
  static WEFT_INLINE Header header(const std::byte* block) {
    const float d = Simd<Arch>::f16(block + 52);
    return {{d, d, d, d, d, d, d, d}};
  }
  // The low 8 bits of every byte times `power`.
  static WEFT_INLINE std::uint64_t times(std::uint64_t bytes, std::uint64_t power) {
    constexpr std::uint64_t kEven = 0x00ff00ff00ff00ff;
    return ((bytes & kEven) * power & kEven) | ((bytes >> 8 & kEven) * power & kEven) << 8;
  }
  template <int kPart>
  static WEFT_INLINE Bytes<Arch> codes(const std::byte* block, int group) {
    if (group < 5) {
      auto left = Bytes<Arch>::load(block);
      for (int n = 0; n < group; ++n) left = Lookup<Arch>::thrice(left);
      return Lookup<Arch>::trits(left);
    }
    const auto a = read<std::uint64_t>(block + 32), b = read<std::uint64_t>(block + 40);
    if (group < 7) {
      const std::uint64_t power = group == 5 ? 1 : 9;
      return Lookup<Arch>::trits(Lookup<Arch>::eights(times(a, power), times(b, power),
                                                      times(a, 3 * power), times(b, 3 * power)));
    }
    const auto last = std::uint64_t{read<std::uint32_t>(block + 48)};
    return Lookup<Arch>::trits(Lookup<Arch>::eights(times(a, 81), times(b, 81),
                                                    last | times(last, 3) << 32,
                                                    times(last, 9) | times(last, 27) << 32));
  }
  static WEFT_INLINE void decode(const std::byte* row, std::int64_t begin, std::int64_t end,
                                 float* out) {
    Decode<Arch, Codec>::blocks(row, begin, end, out);
  }
};

#ifdef WEFT_SIXTEEN
// Units: bytes 0-31, those from 32 on between them: 0, 32, 4, 36, ... 12, 44, 16, 48, 20, 24, 28.
// Halves: d.
template <class Arch>
struct PanelCodec<Arch, TQ1_0Weights> : PanelCodecBase<Arch> {
  using P = PanelCodecBase<Arch>;
  using typename P::S, typename P::Words, typename P::Floats;
  static constexpr int kSubs = 8, kUnits = 13, kParts = 8, kOffset = 1, kMaxCode = 2;
  static constexpr bool kOneToken = S::kRaise != 0;  // remainders take all 8 bits

  static WEFT_INLINE void header(const std::byte*, const std::byte* halves, Floats* scales,
                                 Floats*) {
    const Floats d = S::load_f16(halves);
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) scales[s] = d;
  }
  // The words of bytes 4i .. 4i + 3 (first), 32 + 4i .. 35 + 4i (second), and the last four.
  static WEFT_INLINE Words first(const std::byte* block, int i) {
    return P::unit(block, i < 5 ? 2 * i : 5 + i);
  }
  static WEFT_INLINE Words second(const std::byte* block, int i) {
    return P::unit(block, 2 * i + 1);
  }
  static WEFT_INLINE Words last(const std::byte* block) {
    return P::unit(block, 9);
  }

  static WEFT_INLINE Words thrice(Words b) {
    return S::add8(b, S::add8(b, b));
  }
  static WEFT_INLINE void codes(const std::byte* block, int, int i, Words (&out)[8]) {
    Words left = first(block, i);
#pragma GCC unroll 5
    for (int n = 0; n < 5; ++n, left = thrice(left)) out[n] = S::trits(left);
    left = second(block, i % 4);
    if (i < 4) {
      out[5] = S::trits(left);
      left = thrice(thrice(left));
      out[6] = S::trits(left);
      out[7] = S::trits(thrice(thrice(left)));
    } else {
      left = thrice(left);
      out[5] = S::trits(left);
      out[6] = S::trits(thrice(thrice(left)));
      left = last(block);
#pragma GCC unroll 3
      for (int n = 4; n < i; ++n) left = thrice(left);
      out[7] = S::trits(left);
    }
  }

  // Three times the remainder of a byte is 256 times the next trit plus the next remainder. So the
  // dot products of the trits follow from those of the remainders, without extracting the trits.
  struct Lefts {
    Words before = S::all32(0), after = S::all32(0);

    WEFT_INLINE void add(Words& left, typename S::Shared x) {
      before = S::dot(before, left, x);
      left = thrice(left);
      after = S::dot(after, left, x);
    }
    WEFT_INLINE Words dots() const {
      const Words three = S::add32(before, S::add32(before, before));
      return S::signed_right32(S::sub32(three, after), 8);
    }
  };
  template <class X, class D>
  static WEFT_INLINE void one_token(const std::byte* block, const X& x, D (&dots)[8]) {
    X at[8] = {x, x, x, x, x, x, x, x};
    Lefts lefts[8];
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s) at[s] += s;
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) {  // in the order in which they lie
      Words left = first(block, i);
#pragma GCC unroll 5
      for (int s = 0; s < 5; ++s) lefts[s].add(left, at[s].codes(0, i));
      if (i < 4) {
        left = second(block, i);
#pragma GCC unroll 5
        for (int n = 0; n < 5; ++n)
          lefts[5 + n / 2].add(left, at[5 + n / 2].codes(0, i + n % 2 * 4));
      } else if (i == 4) {
        left = last(block);
#pragma GCC unroll 4
        for (int n = 0; n < 4; ++n) lefts[7].add(left, at[7].codes(0, 4 + n));
      }
    }
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s)
      dots[s].v[0][0].sum = S::add32(dots[s].v[0][0].sum, lefts[s].dots());
  }
};
#endif

}  // namespace weft::cpu
