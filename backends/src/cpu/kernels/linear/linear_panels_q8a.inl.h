#pragma once
// Q8A activations times quantized weights, 16 rows at a time. For few tokens codes are extracted on
// the fly. For more tokens, pieces of K are decoded to scratch once for all tokens of a block; with
// VNNI, all codes have an offset of 128.
//
// Weights come from a Source: BlockSource, for panels in memory or packed from rows in file order,
// or LatticeSource. It has
//   Shape, kStep         a PanelCodec; pieces begin at multiples of this many blocks
//   kMaxDirect, few(args, c)        all tokens, at most kMaxDirect, times columns c .. c + 15
//   kDirectTile          tokens whose sums stay in registers meanwhile
//   decode(args, c, b, n, piece)    n blocks from b on of those columns
//   following(args, at, next, by_column)  the address to prefetch while multiplying piece `at`

#include "cpu/kernels/linear/panel_blocks.inl.h"
#include "cpu/kernels/linear/panel_tiles_q8a.inl.h"
#include "cpu/kernels/linear/walk.inl.h"

#ifdef WEFT_SIXTEEN

namespace weft::cpu {

template <class Arch, class Format, class Blocks>
struct BlockSource {
  using Shape = PanelCodec<Arch, Format>;
  using C = Shape;
  using P = PanelTiles<Arch, C>;
  using S = Sixteen<Arch>;
  using Words = typename S::Words;
  using Floats = typename S::Floats;
  static constexpr int kRows = 16, kBlockElems = 32 * C::kSubs, kStep = Blocks::kStep;
  static constexpr std::int64_t kMaxDirect = Blocks::kMaxDirect;
  static constexpr int kDirectTile = kMaxDirect < S::kDirectTile ? kMaxDirect : S::kDirectTile;

  template <int T, bool kPrefetch>
  static __attribute__((noinline)) void direct(const LinearArgs& a, std::int64_t t,
                                               std::int64_t c) {
    Floats acc[T];
#pragma GCC unroll 3
    for (int j = 0; j < T; ++j) acc[j] = S::all(0);
    typename P::template Tokens<T> x(a.x + t * a.x_stride, a.x_stride);
    Blocks b(a, c, 0, a.k / kBlockElems, t == a.row0);
    for (; b.at < b.n; b.next()) {
      alignas(64) Floats scales[C::kSubs * C::kScales], mins[C::kSubs * C::kScales];
      C::header(b.units, b.halves, scales, mins);
      const auto group = [&](int g) __attribute__((always_inline)) {
        const int sub = g * C::kParts;
        P::template group<T, kPrefetch>(b.units, b.units + a.ahead, g, x, scales + sub * C::kScales,
                                        mins + sub * C::kScales, acc);
      };
      if constexpr (T == 1) {
#pragma GCC unroll 4
        for (int g = 0; g < C::kGroups; ++g) group(g);
      } else {  // with more tokens, all groups would not fit into the cache of decoded instructions
#pragma GCC unroll 1
        for (int g = 0; g < C::kGroups; ++g) group(g);
      }
    }
    for (int j = 0; j < T; ++j) {
      alignas(64) float sums[kRows];
      S::store(sums, acc[j]);
      Epilogue<Arch>::store16(a, t + j, c, sums);
    }
  }

  // Later tiles find the panel in L2.
  static WEFT_INLINE void few(const LinearArgs& a, std::int64_t c) {
    Tiles<Arch, kDirectTile>::each(
        a.row1 - a.row0, [&]<int T>(std::int64_t j) __attribute__((always_inline)) {
          if (Blocks::kInFile || (T == 1 && a.ahead == 0))
            return direct<T, false>(a, a.row0 + j, c);
          direct<T, true>(a, a.row0 + j, c);
        });
  }

  static WEFT_INLINE void decode(const LinearArgs& a, std::int64_t c, std::int64_t first,
                                 std::int64_t n, typename P::Piece& out) {
    Blocks b(a, c, first, n);
    const Words raise = S::all8(P::kRaised - P::kOffset);
    for (int at = 0; b.at < b.n; at += C::kSubs, b.next()) {
      C::header(b.units, b.halves, out.scales[at], out.mins[C::kHasMins ? at : 0]);
      for (int g = 0; g < C::kGroups; ++g) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; ++i) {
          Words codes[C::kParts];
          C::codes(b.units, g, i, codes);
#pragma GCC unroll 8
          for (int p = 0; p < C::kParts; ++p) {
            if constexpr (P::kRaised != P::kOffset) codes[p] = S::add8(codes[p], raise);
            out.codes[at + g * C::kParts + p][i] = codes[p];
          }
        }
      }
    }
  }

  static WEFT_INLINE const std::byte* following(const LinearArgs& a, PieceAt at, PieceAt next,
                                                bool by_column) {
    return Blocks::following(a, at, next, by_column);
  }
};

template <class Arch, class Source>
struct PanelsQ8A {
  using C = typename Source::Shape;
  using P = PanelTiles<Arch, C>;
  using Piece = typename P::Piece;
  static constexpr int kRows = 16, kBlockElems = 32 * C::kSubs;
  static constexpr std::int64_t kPieceBlocks = P::kPieceSubs / C::kSubs;
  static_assert(kPieceBlocks % Source::kStep == 0);
  static constexpr TokenTiles kTokenTiles{.tile = P::kTile,
                                          .few = Source::kMaxDirect,
                                          .few_tile = Source::kDirectTile,
                                          .block = kPanelTokens};

  // Tokens [t, t + n_tokens), columns [c0, c1), both within a block; c0 begins a panel.
  static WEFT_INLINE void block(const LinearArgs& a, std::int64_t t, std::int64_t n_tokens,
                                std::int64_t c0, std::int64_t c1) {
    auto& piece = *reinterpret_cast<Piece*>(a.scratch);
    float* const sums = reinterpret_cast<float*>(a.scratch + kDecodedPiece);
    const std::int64_t n_blocks = a.k / kBlockElems;
    const Walk<Arch> walk({c0, 0}, {kRows, kPieceBlocks}, c1, n_blocks,
                          n_tokens * a.k / 32 * ActivationBlock::kBytes);
    std::memset(sums, 0,
                static_cast<std::size_t>(walk.n_columns * kRows * n_tokens) * sizeof(float));
    for (std::int64_t step = 0; step < walk.n_steps(); ++step) {
      const PieceAt at = walk.at(step);
      const std::int64_t rest = n_blocks - at.block, n = rest < kPieceBlocks ? rest : kPieceBlocks;
      const bool last = step + 1 == walk.n_steps();
      const std::byte* ahead =
          last ? nullptr : Source::following(a, at, walk.at(step + 1), walk.by_column);
      Source::decode(a, at.column, at.block, n, piece);
      P::arrange(piece, static_cast<int>(n) * C::kSubs);
      P::add_piece(a, piece, static_cast<int>(n) * C::kSubs, at.block * kBlockElems, t, n_tokens,
                   sums + (at.column - c0) * n_tokens, ahead);
    }
    for (std::int64_t c = c0; c < c1; c += kRows) {
      for (std::int64_t j = 0; j < n_tokens; ++j) {
        Epilogue<Arch>::store16(a, t + j, c, sums + (c - c0) * n_tokens + j * kRows);
      }
    }
  }

  static WEFT_INLINE void run(const LinearArgs& a) {
    const std::int64_t c0 = a.col0 / kRows * kRows;
    if (a.row1 - a.row0 <= Source::kMaxDirect) {
      for (std::int64_t c = c0; c < a.col1; c += kRows) Source::few(a, c);
      return;
    }
    for (std::int64_t t = a.row0; t < a.row1; t += kPanelTokens) {
      const std::int64_t n = t + kPanelTokens < a.row1 ? kPanelTokens : a.row1 - t;
      for (std::int64_t c = c0; c < a.col1; c += kPanelCols)
        block(a, t, n, c, c + kPanelCols < a.col1 ? c + kPanelCols : a.col1);
    }
  }
};

}  // namespace weft::cpu

#endif
