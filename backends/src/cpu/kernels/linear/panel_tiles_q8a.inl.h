#pragma once
// Q8A activations times quantized weights in panels (cpu/panels.h): some tokens times a panel's
// blocks. A vector holds 4 consecutive codes of each of 16 weight rows (simd/sixteen.inl.h). They
// are multiplied by the same 4 codes of one token, so that a vector of sums belongs to 16 outputs
// of a token and no sums go across lanes. For every 32 elements of K,
//   acc += float(sum of code * activation) * (scale of the weights * scale of the activations)
//   acc -= minimum of the weights * (scale * sum of the activations)
// in the order of K, so that an output's bits do not depend on what else is computed with it, nor
// on the instruction set.
//
// vpdpbusd takes unsigned codes. Sums of codes with an offset start at Q8ABlock::start, which
// subtracts 128 times the activations, or at that divided by a power of two. Without VNNI, codes
// that need 8 bits are signed and have no offset.

#include "cpu/kernels/linear/codec.inl.h"
#include "cpu/simd/simd.inl.h"

#ifdef WEFT_SIXTEEN

namespace weft::cpu {

template <class Arch, class C>
struct PanelTiles {
  using A = ActivationBlock;
  using S = Sixteen<Arch>;
  using Words = typename S::Words;
  using Floats = typename S::Floats;
  static constexpr int kRows = 16;
  static constexpr int kTile = S::kTile;  // tokens whose sums stay in registers
  static constexpr int kPieceSubs = 16;   // sub-blocks of a piece
  static constexpr bool kSigned = C::kOffset == 128;
  // The offsets of codes in panels, and of decoded codes.
  static constexpr int kOffset = kSigned ? S::kRaise : C::kOffset;
  static constexpr int kRaised = kOffset == 0 || S::kRaise == 0 ? kOffset : 128;

  // The same sub-block of T tokens. Three share a pointer, or registers for addresses run out.
  template <int T>
  struct Tokens {
    const std::byte* at[(T + 2) / 3];
    std::int64_t stride;

    WEFT_INLINE Tokens(const std::byte* x, std::int64_t x_stride) : stride(x_stride) {
#pragma GCC unroll 4
      for (int i = 0; i < (T + 2) / 3; ++i) {
        at[i] = x + 3 * i * x_stride;
        asm("" : "+r"(at[i]));  // or the compiler makes one pointer per token of it
      }
    }
    template <class Word>
    WEFT_INLINE Word word(int token, int byte) const {
      Word w;
      std::memcpy(&w, at[token / 3] + token % 3 * stride + byte, sizeof(w));
      return w;
    }
    WEFT_INLINE typename S::Shared codes(int token, int i) const {
      return S::shared(word<std::int32_t>(token, A::kCodes + 4 * i));
    }
    WEFT_INLINE Floats scale(int token) const {
      return S::all(word<float>(token, A::kScale));
    }
    WEFT_INLINE Floats scaled_sum(int token) const {
      return S::all(word<float>(token, A::kScaledSum));
    }
    WEFT_INLINE Words start(int token, int byte) const {
      return S::all32(word<std::int32_t>(token, byte));
    }
    WEFT_INLINE Tokens& operator+=(int n) {  // sub-blocks
#pragma GCC unroll 4
      for (int i = 0; i < (T + 2) / 3; ++i) at[i] += n * A::kBytes;
      return *this;
    }
  };

  // Dot products of a sub-block, one for each of its scales. Codes have an offset of kOffset.
  template <int T, int kOffset>
  struct Dots {
    static constexpr int kLength = 8 / C::kScales;  // products of words in a sum
    using Sum = typename S::template Sums<kOffset != 0, C::kMaxCode, kSigned, kLength, Arch>;
    Sum v[C::kScales][T];

    WEFT_INLINE void start(const Tokens<T>& x) {
#pragma GCC unroll 2
      for (int s = 0; s < C::kScales; ++s) {
#pragma GCC unroll 12
        for (int j = 0; j < T; ++j) {
          v[s][j].start([&]()
                            __attribute__((always_inline)) { return start_of<kOffset>(x, j, s); });
        }
      }
    }
    // Elements 4i .. 4i + 3 of the 16 rows, and those of the kAtOnce - 1 following words.
    static constexpr int kAtOnce = Sum::kAtOnce;
    WEFT_INLINE void add(const Tokens<T>& x, int i, const Words (&codes)[kAtOnce]) {
#pragma GCC unroll 12
      for (int j = 0; j < T; ++j) {
#pragma GCC unroll 2
        for (int n = 0; n < kAtOnce; ++n)
          v[i / kLength][j].add((i + n) % kLength, codes[n], x.codes(j, i + n));
      }
    }
    WEFT_INLINE void finish(const Tokens<T>& x, int s, const Floats* scales, Floats (&acc)[T]) {
#pragma GCC unroll 12
      for (int j = 0; j < T; ++j) {
        const Words dot = v[s][j].total([&]() __attribute__((always_inline)) {
          return start_of<kOffset>(x, j, s);
        });
        acc[j] = S::fma(S::to_floats(dot), scales[s] * x.scale(j), acc[j]);
      }
    }
  };
  template <int T>
  static WEFT_INLINE void subtract_mins(const Tokens<T>& x, const Floats* mins, Floats (&acc)[T]) {
#pragma GCC unroll 12
    for (int j = 0; j < T; ++j) {
      if constexpr (C::kScales == 1) {
        acc[j] = S::fnma(*mins, x.scaled_sum(j), acc[j]);
      } else {  // halves of a block start at -128 times the sums of their codes
        const Floats scale = x.scale(j) * S::all(0x1p-7f);
        const Floats low = S::to_floats(x.start(j, A::kStartLow));
        const Floats high = S::to_floats(x.start(j, A::kStartHigh));
        acc[j] = S::fma(mins[0], low * scale, acc[j]);
        acc[j] = S::fma(mins[1], high * scale, acc[j]);
      }
    }
  }

  // The same for pairs of tokens, if an instruction multiplies 2 x 8 by 8 x 2 codes. Takes codes in
  // the order of S::pair_rows().
  template <int T, int kOffset>
  struct PairDots {
    static constexpr int kLength = 8 / C::kScales, kPairs = (T + 1) / 2;
    typename S::PairSums v[C::kScales][kPairs];

    WEFT_INLINE void start(const Tokens<T>&) {
#pragma GCC unroll 2
      for (int s = 0; s < C::kScales; ++s) {
#pragma GCC unroll 4
        for (int p = 0; p < kPairs; ++p) v[s][p] = S::no_pair_sums();
      }
    }
    static constexpr int second(int pair) {
      return 2 * pair + 1 < T ? 2 * pair + 1 : 2 * pair;
    }
    static constexpr int kAtOnce = 1;
    WEFT_INLINE void add(const Tokens<T>& x, int i, const Words (&codes)[1]) {
#pragma GCC unroll 4
      for (int p = 0; p < kPairs; ++p) {
        const int byte = A::kCodes + i / 2 * 8;
        const auto pair = S::pair(x.template word<std::uint64_t>(2 * p, byte),
                                  x.template word<std::uint64_t>(second(p), byte));
        S::add_products(v[i / kLength][p], i % 2, codes[0], pair);
      }
    }
    WEFT_INLINE void finish(const Tokens<T>& x, int s, const Floats* scales, Floats (&acc)[T]) {
#pragma GCC unroll 8
      for (int j = 0; j < T; ++j) {
        Words dot = S::of_token(v[s][j / 2], j % 2);
        if constexpr (kOffset != 0) dot = S::add32(dot, start_of<kOffset>(x, j, s));
        acc[j] = S::fma(S::to_floats(dot), scales[s] * x.scale(j), acc[j]);
      }
    }
  };

  template <int kOffset, int T>
  static WEFT_INLINE Words start_of(const Tokens<T>& x, int token, int s) {
    if constexpr (kOffset == 0) return S::all32(0);
    constexpr int kStarts[] = {A::kStart, A::kStartLow, A::kStartHigh};
    const Words start = x.start(token, kStarts[C::kScales == 1 ? 0 : 1 + s]);
    constexpr int kShift = kOffset == 0 ? 0 : 7 - (31 - __builtin_clz(kOffset));
    return kShift == 0 ? start : S::signed_right32(start, kShift);
  }

  // ---- codes extracted from a panel on the fly

  // Prefetches the lines that correspond to one of the 8 steps of a group. With several tokens the
  // processor's own prefetchers do not suffice anywhere, because the stream of the panel keeps
  // evicting the tokens' rows from L1. For one token it depends on the processor.
  static WEFT_INLINE void prefetch(const std::byte* ahead, int step) {
    constexpr int kSteps = 8 * C::kGroups, kLines = (C::kUnits + kSteps - 1) / kSteps;
#pragma GCC unroll 8
    for (int line = 0; line < kLines; ++line) {
      __builtin_prefetch(ahead + 64 * (kLines * step + line));
    }
  }

  // Parts of a group whose sums for T tokens fit into registers together.
  static constexpr int parts_at_once(int n_tokens) {
    int n = C::kParts;
    while (n > 1 && n * C::kScales * n_tokens > S::kSums) n /= 2;
    return n;
  }

  // A group of sub-blocks, so that the panel is read once and in order. Parts that are not
  // multiplied at once find its units in L1.
  template <int T, bool kPrefetch>
  static WEFT_INLINE void group(const std::byte* units, const std::byte* ahead, int g, Tokens<T>& x,
                                const Floats* scales, const Floats* mins, Floats (&acc)[T]) {
    if constexpr (T == 1 && C::kOneToken) {
      Dots<T, kOffset> dots[C::kParts];
      start(dots, x);
#pragma GCC unroll 8
      for (int i = 0; i < (kPrefetch ? 8 : 0); ++i) prefetch(ahead, 8 * g + i);
      C::one_token(units, x, dots);
      finish(dots, x, scales, mins, acc);
    } else {
      constexpr int kAtOnce = parts_at_once(T);
#pragma GCC unroll 8
      for (int p = 0; p < C::kParts; p += kAtOnce) {
        parts<T, kAtOnce, kPrefetch>(units, ahead, g, p, x, scales + p * C::kScales,
                                     mins + p * C::kScales, acc);
      }
    }
  }
  // Parts first .. first + kCount - 1.
  template <int T, int kCount, bool kPrefetch>
  static WEFT_INLINE void parts(const std::byte* units, const std::byte* ahead, int g, int first,
                                Tokens<T>& x, const Floats* scales, const Floats* mins,
                                Floats (&acc)[T]) {
    constexpr bool kHalves = kCount == 1 && C::kScales == 2;  // finishes each as soon as it can
    constexpr int kAtOnce = Dots<T, kOffset>::kAtOnce;
    Dots<T, kOffset> dots[kCount];
    start(dots, x);
    asm("" : "+r"(units));  // or the compiler keeps the units of all parts, in memory
#pragma GCC unroll 8
    for (int i = 0; i < 8; i += kAtOnce) {
      Words codes[kCount][kAtOnce];
#pragma GCC unroll 2
      for (int n = 0; n < kAtOnce; ++n) {
        Words all[C::kParts];
        C::codes(units, g, i + n, all);
        if (kPrefetch && first == 0) prefetch(ahead, 8 * g + i + n);
#pragma GCC unroll 8
        for (int p = 0; p < kCount; ++p) codes[p][n] = all[first + p];
      }
      Tokens<T> part = x;
#pragma GCC unroll 8
      for (int p = 0; p < kCount; ++p, part += 1) dots[p].add(part, i, codes[p]);
      if (kHalves && i + kAtOnce == 4) dots[0].finish(x, 0, scales, acc);
    }
    finish<kHalves>(dots, x, scales, mins, acc);
  }
  template <int T, int kCount>
  static WEFT_INLINE void start(Dots<T, kOffset> (&dots)[kCount], Tokens<T> x) {
#pragma GCC unroll 8
    for (int p = 0; p < kCount; ++p, x += 1) dots[p].start(x);
  }
  // Advances `x` past the sub-blocks.
  template <bool kOnlySecond = false, int T, int kCount>
  static WEFT_INLINE void finish(Dots<T, kOffset> (&dots)[kCount], Tokens<T>& x,
                                 const Floats* scales, const Floats* mins, Floats (&acc)[T]) {
#pragma GCC unroll 8
    for (int p = 0; p < kCount; ++p, x += 1) {
#pragma GCC unroll 2
      for (int s = kOnlySecond ? 1 : 0; s < C::kScales; ++s)
        dots[p].finish(x, s, scales + p * C::kScales, acc);
      if constexpr (C::kHasMins) subtract_mins(x, mins + p * C::kScales, acc);
    }
  }

  // ---- decoded codes

  // Sub-blocks of a panel.
  struct Piece {
    alignas(64) Words codes[kPieceSubs][8];
    Floats scales[kPieceSubs][C::kScales];
    Floats mins[C::kHasMins ? kPieceSubs : 1][C::kScales];
  };
  static_assert(sizeof(Piece) <= kDecodedPiece);

  static WEFT_INLINE void arrange(Piece& piece, int n_subs) {
    if constexpr (S::kPairs) {
      for (int sub = 0; sub < n_subs; ++sub) {
#pragma GCC unroll 4
        for (int i = 0; i < 8; i += 2) S::pair_rows(piece.codes[sub][i], piece.codes[sub][i + 1]);
      }
    }
  }

  // T tokens of a block; sums continue from the previous piece.
  template <int T>
  static __attribute__((noinline)) void tile(const Piece& piece, int n_subs, const std::byte* x,
                                             std::int64_t x_stride, float* sums,
                                             const std::byte* ahead) {
    auto& kept = *reinterpret_cast<Floats(*)[T]>(sums);
    if constexpr (S::kAccumulates) {
      Floats acc[T];
#pragma GCC unroll 12
      for (int j = 0; j < T; ++j) acc[j] = kept[j];
      add_subs<T>(piece, n_subs, {x, x_stride}, acc, ahead);
#pragma GCC unroll 12
      for (int j = 0; j < T; ++j) kept[j] = acc[j];
    } else {
      add_subs<T>(piece, n_subs, {x, x_stride}, kept, ahead);
    }
  }
  // Prefetches the data after the piece, some lines per sub-block.
  template <int T>
  static WEFT_INLINE void add_subs(const Piece& piece, int n_subs, Tokens<T> x, Floats (&acc)[T],
                                   const std::byte* ahead) {
    for (int sub = 0; sub < n_subs; ++sub) {
      if (ahead) {
        constexpr int kBytes = kRows * (4 * C::kUnits + (C::kHasHalves ? C::kHalfBytes : 0));
        constexpr int kLines = (kBytes + 64 * C::kSubs - 1) / (64 * C::kSubs);
#pragma GCC unroll 9
        for (int i = 0; i < kLines; ++i) __builtin_prefetch(ahead + 64 * i);
        ahead += 64 * kLines;
      }
      std::conditional_t<S::kPairs, PairDots<T, kRaised>, Dots<T, kRaised>> dots;
      dots.start(x);
      constexpr int kAtOnce = decltype(dots)::kAtOnce;
#pragma GCC unroll 8
      for (int i = 0; i < 8; i += kAtOnce) {
        Words codes[kAtOnce];
#pragma GCC unroll 2
        for (int n = 0; n < kAtOnce; ++n) codes[n] = piece.codes[sub][i + n];
        dots.add(x, i, codes);
        if (C::kScales == 2 && i + kAtOnce == 4) dots.finish(x, 0, piece.scales[sub], acc);
      }
      dots.finish(x, C::kScales - 1, piece.scales[sub], acc);
      if constexpr (C::kHasMins) subtract_mins(x, piece.mins[sub], acc);
      x += 1;
    }
  }

  // n_tokens <= kPanelTokens, the columns of one panel, n_tokens * 16 sums.
  static WEFT_INLINE void add_piece(const LinearArgs& a, const Piece& piece, int n_subs,
                                    std::int64_t k, std::int64_t t, std::int64_t n_tokens,
                                    float* sums, const std::byte* ahead) {
    const std::byte* x = a.x + t * a.x_stride + k / 32 * A::kBytes;
    Tiles<Arch, kTile>::each(
        n_tokens, [&]<int T>(std::int64_t j) __attribute__((always_inline)) {
          tile<T>(piece, n_subs, x + j * a.x_stride, a.x_stride, sums + j * kRows,
                  j == 0 ? ahead : nullptr);
        });
  }
};

}  // namespace weft::cpu

#endif
