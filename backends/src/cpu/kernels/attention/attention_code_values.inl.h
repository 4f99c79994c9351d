#pragma once
// Weighted sums of values with integer products: lanes are elements, with two cells per lane. A
// cell's codes are multiplied by a weight of 16 bits: p times the scale of the cell's block,
// rounded to a multiple of the largest p times the largest scale of the row's cells, divided by
// 2^15 - 1. The products of all 64 cells are then exact.

#include "cpu/kernels/attention/attention_code_pairs.inl.h"
#include "cpu/kernels/attention/attention_quads.inl.h"
#include "cpu/kernels/attention/attention_rows.inl.h"

#ifdef WEFT_SIXTEEN

namespace weft::cpu {

template <class Arch, class Cells>
struct CodeValues {
  using Codes = AttentionCodes<Arch>;
  using Pairs = CodePairs<Arch>;
  using S = Sixteen<Arch>;
  using Words = typename S::Words;
  using Floats = typename S::Floats;
  static constexpr std::int64_t kLanes = Codes::kLanes, kBlock = Codes::kBlock,
                                kCells = Codes::kCells;

  static void scales(const std::byte* v, std::int64_t cell, std::int64_t n, std::int64_t e,
                     float* scales) noexcept {
    Codes::template all_scales<Cells>(v, cell, n, e, scales);
  }

  // The weights of the codes of block b of a row's cells: p * scale / factor.
  struct Weights {
    alignas(64) std::int16_t w[kCells];
    float factor;
  };

  // All bits of the words of cells from the 65th on.
  struct Mask {
    std::int32_t words[2 * kCells];
    constexpr Mask() : words{} {
      for (std::int64_t i = kCells; i < 2 * kCells; ++i) words[i] = -1;
    }
  };
  static constexpr Mask kMask{};
  // A mask for cells i .. i + 15 that selects those from `first` on.
  static WEFT_INLINE Words from(std::int64_t i, std::int64_t first) {
    return S::load(reinterpret_cast<const std::byte*>(kMask.words + kCells + i - first));
  }

  // The scales of the row's cells, normalized so that the largest is 2^15 - 1; zeros for other
  // cells.
  struct Relative {
    Floats scale[kCells / kLanes];
    float factor;  // by which the normalized scales must be multiplied

    WEFT_INLINE Relative(const float* scales, std::int64_t begin, std::int64_t end) {
      Words largest = S::all32(0);  // as bits: NaNs lie above all numbers
#pragma GCC unroll 4
      for (int i = 0; i < kCells / kLanes; ++i) {
        const Words bits = S::load(reinterpret_cast<const std::byte*>(scales + i * kLanes));
        const Words begun = from(i * kLanes, begin), ended = from(i * kLanes, end);
        const Words own = bits & (begun ^ ended);  // begin <= end
        scale[i] = S::bits_to_floats(own);
        largest = S::max32(largest, own & S::all32(0x7fffffff));
      }
      const std::int32_t bits = S::max_of(largest);
      std::memcpy(&factor, &bits, 4);
      factor /= 32767;
      const Floats inverse = S::all(factor == 0 ? 0 : 1 / factor);
#pragma GCC unroll 4
      for (auto& s : scale) s = s * inverse;
    }
  };

  static WEFT_INLINE void weigh(const Relative& relative, const float* p, float peak, Weights& to) {
    // A block that adds almost nothing is skipped before a reciprocal overflows.
    const bool adds = peak > AttentionCodeValues::kMinPeak;
    const Floats up = S::all(adds ? 1 / peak : 0);
    to.factor = (adds ? peak : 0) * relative.factor;  // a NaN stays one
#pragma GCC unroll 4
    for (int i = 0; i < kCells / kLanes; ++i) {
      const Floats share = S::load_floats(p + i * kLanes) * up;
      S::store_rounded(to.w + i * kLanes, share * relative.scale[i]);
    }
  }

  static void add(const AttentionCodeValues& a, int n_rows, AttentionAhead& ahead) noexcept {
    add_rows<AttentionRows<Arch>::kMaxRows>(a, n_rows, ahead);
  }
  template <int R>
  static WEFT_INLINE void add_rows(const AttentionCodeValues& a, int n_rows,
                                   AttentionAhead& ahead) {
    if (n_rows == R) return add_rows<R>(a, ahead);
    if constexpr (R > 1) add_rows<R - 1>(a, n_rows, ahead);
  }

  template <int R>
  static __attribute__((noinline)) void add_rows(const AttentionCodeValues& a,
                                                 AttentionAhead& ahead) {
    std::int64_t end = a.begin;
    for (int r = 0; r < R; ++r) end = a.end[r] > end ? a.end[r] : end;
    for (std::int64_t b = 0; b < a.e / kBlock; ++b) {
      Weights weights[R];
      const float* scales = a.scales + b * kCells;
      for (int r = 0; r < R;) {
        const std::int64_t same = a.end[r];
        const Relative relative(scales, a.begin, same > a.begin ? same : a.begin);
        for (; r < R && a.end[r] == same; ++r)
          weigh(relative, a.p + r * kCells, a.peaks[r], weights[r]);
      }
#pragma GCC unroll 2
      for (int first = 0; first < kBlock; first += Pairs::kElements) {
        typename Pairs::Sums sums[R];
        dots<R>(a, b, first, end, weights, sums, ahead);
#pragma GCC unroll 8
        for (int r = 0; r < R; ++r) {
          float* y = a.y + r * a.width + b * kBlock + first;
          Words whole[Pairs::kElements / kLanes];
          Pairs::in_order(sums[r], whole);
#pragma GCC unroll 2
          for (int i = 0; i < Pairs::kElements / kLanes; ++i, y += kLanes) {
            const Floats before = S::load_floats(y) * S::all(a.rescale[r]);
            S::store(y, S::fma(S::to_floats(whole[i]), S::all(weights[r].factor), before));
          }
        }
      }
    }
  }

  // Elements `first` .. first + Pairs::kElements - 1 of block b.
  template <int R>
  static WEFT_INLINE void dots(const AttentionCodeValues& a, std::int64_t b, int first,
                               std::int64_t end, const Weights (&weights)[R],
                               typename Pairs::Sums (&sums)[R], AttentionAhead& ahead) {
#pragma GCC unroll 8
    for (int r = 0; r < R; ++r) sums[r] = Pairs::zero();
    std::int64_t s = a.begin / 2 * 2;
    const std::byte* v = a.v + s * a.cell + b * Cells::kBlockBytes;
    for (; s < end; s += 2, v += 2 * a.cell) {
      if (first == 0 && s % 16 == 0) ahead.fetch();
      const auto codes = Pairs::load(Cells(), v, v + a.cell, first);
#pragma GCC unroll 8
      for (int r = 0; r < R; ++r) {
        std::int32_t pair;
        std::memcpy(&pair, weights[r].w + s, 4);
        Pairs::add(sums[r], codes, pair);
      }
    }
  }
};

}  // namespace weft::cpu

#endif
