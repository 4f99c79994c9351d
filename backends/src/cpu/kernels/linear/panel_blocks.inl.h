#pragma once
// The sources of the panels that PanelsQ8A multiplies: memory, or rows in file order, whose current
// block is packed into a local panel. Both give the same units and halves, so that the bits of a
// product do not depend on the source.
//
// - Blocks(args, c, b, n): n blocks from b on, a multiple of kStep, of the panel of columns from c
//   on.
// - units, halves: those of the current block, number `at` of `n`; next() advances to the next one.
// - kMaxDirect: max tokens for which codes are extracted on the fly: as many as a set takes, or one
//   if a group has so many parts that its code would not fit into the processor's cache of decoded
//   instructions.
// - following(args, ...): the address after a piece of a panel.

#include "cpu/kernels/linear/codec.inl.h"
#include "cpu/kernels/linear/walk.inl.h"
#include "cpu/panel_layouts.h"
#include "cpu/simd/simd.inl.h"

#ifdef WEFT_SIXTEEN

namespace weft::cpu {

template <class Arch, class Format>
struct PanelBlocks {
  using C = PanelCodec<Arch, Format>;
  static constexpr bool kInFile = false;
  static constexpr int kRows = 16, kHalves = C::kHasHalves ? C::kHalfBytes * kRows : 0;
  static constexpr int kStep = 4 / C::kHalfBytes;  // blocks whose halves lie together
  static constexpr std::int64_t kMaxDirect =
      C::kParts > Sixteen<Arch>::kDirectParts ? 1 : Sixteen<Arch>::kMaxDirect;

  const std::byte *units, *halves;
  std::int64_t n, at = 0, rest;  // blocks up to the end of the panel

  WEFT_INLINE PanelBlocks(const LinearArgs& a, std::int64_t c, std::int64_t b, std::int64_t count,
                          bool = false)
      : halves(panel(a, c, b)), n(count), rest(a.k / (32 * C::kSubs) - b) {
    units = halves + (rest < kStep ? rest : kStep) * kHalves;
  }
  WEFT_INLINE void next() {
    units += C::kUnits * 64;
    halves += kHalves;
    if (++at % kStep == 0 && C::kHasHalves) {
      halves = units;
      units += (rest - at < kStep ? rest - at : kStep) * kHalves;
    }
  }
  // Block b of the panel from column c on.
  static WEFT_INLINE const std::byte* panel(const LinearArgs& a, std::int64_t c, std::int64_t b) {
    return a.w + c * a.w_stride + b * (64 * C::kUnits + kHalves);
  }
  static WEFT_INLINE const std::byte* following(const LinearArgs& a, PieceAt, PieceAt next, bool) {
    return panel(a, next.column, next.block);
  }
};

template <class Arch, class Format>
struct FileBlocks {
  using C = PanelCodec<Arch, Format>;
  using S = Sixteen<Arch>;
  using Words = typename S::Words;
  static constexpr PanelLayout kLayout = kPanelLayout<Format>;
  static constexpr bool kInFile = true;
  static constexpr int kRows = 16, kStep = 1;
  static constexpr std::int64_t kMaxDirect = C::kParts > S::kDirectParts ? 1 : S::kDirectTile;
  static constexpr int kHalfBytes = kLayout.half_at == PanelLayout::kNone ? 0 : kLayout.half_bytes;
  static constexpr int kBlockBytes = 4 * C::kUnits + kHalfBytes;  // bytes of a block of one row
  static constexpr int kFirstUnit = kLayout.half_at == 0 ? kHalfBytes : 0;
  static_assert(kLayout.unit == 4 && C::kUnits >= 4 && C::kHasHalves == (kHalfBytes != 0));

  alignas(64) std::byte units[64 * C::kUnits], halves[64];
  const std::byte* rows[kRows];
  std::int64_t offset, n, at = 0;
  const std::byte* ahead;  // the start of the next 16 rows; null: prefetches nothing

  // If there are fewer than 16 rows, the last one is repeated.
  WEFT_INLINE FileBlocks(const LinearArgs& a, std::int64_t c, std::int64_t b, std::int64_t count,
                         bool prefetches = false)
      : offset(b * kBlockBytes),
        n(count),
        ahead(prefetches ? Ahead<Arch>::next_rows(a, c, 0) : nullptr) {
    for (int r = 0; r < kRows; ++r)
      rows[r] = a.w + (c + r < a.col1 ? c + r : a.col1 - 1) * a.w_stride;
    pack();
  }
  WEFT_INLINE void next() {
    offset += kBlockBytes;
    if (++at < n) pack();
  }

  WEFT_INLINE void pack() {
#pragma GCC unroll 16
    for (int i = 0; i < C::kUnits; i += 4) {
      const int u = i + 4 <= C::kUnits ? i : C::kUnits - 4;
      if (ahead) {
#pragma GCC unroll 4
        for (int line = 0; line < 4; ++line) __builtin_prefetch(ahead + 64 * (i + line), 0, 2);
      }
      Words four[4];
      load(kFirstUnit + 4 * u, four);
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) put(u + j, four[j]);
    }
    if constexpr (kHalfBytes != 0) {
      Words four[4];
      const bool first = kLayout.half_at == 0;  // in the first four bytes, else in the last four
      load(first ? 0 : kBlockBytes - 16, four);
      const Words half = first ? four[0] : S::right32(four[3], 32 - 8 * kHalfBytes);
      S::template store_low<kHalfBytes>(halves, half);
    }
    if (ahead) ahead += kRows * kBlockBytes;
  }
  // Four words of the block from a byte on.
  WEFT_INLINE void load(int byte, Words (&out)[4]) {
    S::from_rows(
        [&](int r) __attribute__((always_inline)) { return rows[r] + offset + byte; }, out);
  }
  WEFT_INLINE void put(int unit, Words words) {
    constexpr Swaps kSwaps = kLayout.swaps;
    if (kSwaps.unit == Swaps::kAll || kSwaps.unit == unit)
      words = exchanged(exchanged(words, kSwaps.first), kSwaps.second);
    S::store(units + 64 * (kLayout.n_ordered == 0 ? unit : kLayout.place[unit]), words);
  }
  static WEFT_INLINE Words exchanged(Words words, Swap s) {
    const Words change = (S::right32(words, s.by) ^ words) & S::all32(static_cast<int>(s.mask));
    return words ^ change ^ S::left32(change, s.by);
  }

  // The same share of the next 16 rows, which lie together; their pieces do not.
  static WEFT_INLINE const std::byte* following(const LinearArgs& a, PieceAt at, PieceAt,
                                                bool by_column) {
    return by_column ? Ahead<Arch>::next_rows(a, at.column, at.block * kRows * kBlockBytes)
                     : nullptr;
  }
};

}  // namespace weft::cpu

#endif
