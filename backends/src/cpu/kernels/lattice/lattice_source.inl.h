#pragma once
// Points of a lattice (IQ1, IQ2, IQ3) in file order, as PanelsQ8A takes weights. Many tokens: a
// piece of 16 rows is decoded to a panel. One token: the dot products of 16 rows are summed across
// lanes together. Both add up the same integers, and then floats in the same order, so that a
// token's bits are the same.

#include "cpu/kernels/lattice/lattice_codes.inl.h"
#include "cpu/kernels/lattice/lattice_codes_neon.inl.h"
#include "cpu/kernels/linear/panel_tiles_q8a.inl.h"
#include "cpu/kernels/linear/walk.inl.h"

#ifdef WEFT_SIXTEEN

namespace weft::cpu {

template <class Arch, class C>
struct LatticeSource {
  using A = ActivationBlock;
  using S = Sixteen<Arch>;
  using Words = typename S::Words;
  using Floats = typename S::Floats;
  using Codes = LatticeCodes<Arch, C>;
  static constexpr int kRows = 16, kSubs = C::kBlockElems / 32, kScales = C::kTwoScales ? 2 : 1;
  struct Shape : PanelCodecBase<Arch> {
    static constexpr int kSubs = C::kBlockElems / 32, kScales = C::kTwoScales ? 2 : 1;
    static constexpr int kUnits = (C::kBlockBytes + 3) / 4, kOffset = 64, kMaxCode = 127;
    static constexpr bool kHasHalves = false;
  };
  using Tiles = PanelTiles<Arch, Shape>;
  using Piece = typename Tiles::Piece;
  static constexpr int kStep = 1;
  static constexpr std::int64_t kMaxDirect = 1;
  static constexpr int kDirectTile = 1;

  // A block of each of 16 rows; if there are fewer, the last one is repeated.
  struct Block {
    typename Codes::Taken taken[kRows];
    alignas(64) float units[kRows];
    alignas(64) std::uint32_t numbers[kScales][kRows];
    const std::byte* first;
    std::int64_t stride, last;

    WEFT_INLINE Block(const LinearArgs& a, std::int64_t c, std::int64_t b)
        : first(a.w + c * a.w_stride + b * C::kBlockBytes),
          stride(a.w_stride),
          last(a.col1 - 1 - c) {}
    WEFT_INLINE void read() {
      for (int r = 0; r < kRows; ++r) {
        const std::byte* const block = first + (r < last ? r : last) * stride;
        Codes::take(block, taken[r]);
        const auto scales = C::scales(block);
        units[r] = scales.unit;
#pragma GCC unroll 2
        for (int i = 0; i < kScales; ++i)
          numbers[i][r] = static_cast<std::uint32_t>(scales.numbers >> 32 * i);
      }
      first += C::kBlockBytes;
    }
    // Scale i of the 16 rows.
    WEFT_INLINE Floats scale(int i) const {
      const Words all = S::load(reinterpret_cast<const std::byte*>(numbers[i / 8]));
      const Words n = S::right32(all, i % 8 * 4) & S::all32(15);
      return S::load_floats(units) * S::to_floats(S::left32(n, 1) | S::all32(1));
    }
  };

  // ---- one token

  static WEFT_INLINE void few(const LinearArgs& a, std::int64_t c) {
#ifdef __AVX512VNNI__
    C::OneToken::run(a, a.row0, c);
#else
    one_token(a, a.row0, c);
#endif
  }

  static WEFT_INLINE Floats add(Words dots, Floats scale, const std::byte* x, Floats acc) {
    const Floats x_scale = S::all(C::template read<float>(x + A::kScale));
    return S::fma(S::to_floats(dots), scale * x_scale, acc);
  }
  static __attribute__((noinline)) void one_token(const LinearArgs& a, std::int64_t t,
                                                  std::int64_t c) {
    Floats acc = S::all(0);
    const std::byte* x = a.x + t * a.x_stride;
    Ahead<Arch> ahead(a, t, c, kRows);
    Block block(a, c, 0);
    for (std::int64_t k = 0; k < a.k; k += C::kBlockElems) {
      ahead.template next<kRows * C::kBlockBytes>();
      block.read();
      for (int g = 0; g < kSubs; ++g, x += A::kBytes) {
        Words halves[2];
        Codes::dots(block.taken, g, x + A::kCodes, halves);
        if constexpr (kScales == 1) {
          acc = add(S::add32(halves[0], halves[1]), block.scale(g), x, acc);
        } else {
          acc = add(halves[0], block.scale(2 * g), x, acc);
          acc = add(halves[1], block.scale(2 * g + 1), x, acc);
        }
      }
    }
    alignas(64) float sums[kRows];
    S::store(sums, acc);
    Epilogue<Arch>::store16(a, t, c, sums);
  }

  // ---- many tokens

  static __attribute__((noinline)) void decode(const LinearArgs& a, std::int64_t c, std::int64_t b,
                                               std::int64_t n, Piece& out) {
    alignas(64) std::byte codes[kRows][32];
    Block block(a, c, b);
    for (int at = 0; at < n * kSubs; at += kSubs) {
      block.read();
      for (int g = 0; g < kSubs; ++g) {
#pragma GCC unroll 2
        for (int s = 0; s < kScales; ++s) out.scales[at + g][s] = block.scale(kScales * g + s);
        for (int r = 0; r < kRows; ++r) Codes::store(block.taken[r], g, Tiles::kRaised, codes[r]);
#pragma GCC unroll 2
        for (int i = 0; i < 8; i += 4) {
          Words four[4];
          S::from_rows(
              [&](int r) __attribute__((always_inline)) { return codes[r] + 4 * i; }, four);
#pragma GCC unroll 4
          for (int j = 0; j < 4; ++j) out.codes[at + g][i + j] = four[j];
        }
      }
    }
  }

  // As FileBlocks::following.
  static WEFT_INLINE const std::byte* following(const LinearArgs& a, PieceAt at, PieceAt,
                                                bool by_column) {
    return by_column ? Ahead<Arch>::next_rows(a, at.column, at.block * kRows * C::kBlockBytes)
                     : nullptr;
  }
};

}  // namespace weft::cpu

#endif
