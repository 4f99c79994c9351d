#pragma once
// Rows of scalars in file order as PanelsF32 takes panels: kPanels times 16 rows, by elements of K.

#include "cpu/kernels/linear/codec.inl.h"

#ifdef WEFT_SIXTEEN

namespace weft::cpu {

template <class Arch, class C, int kPanels>
struct FloatRows {
  using S = Sixteen<Arch>;
  using Floats = typename S::Floats;
  static constexpr int kRows = 16, kAll = kPanels * kRows;
  static constexpr int kPerWord = 4 / C::kBytes, kStep = 4 * kPerWord;  // elements of a step
  static constexpr int kChunk = 64;                                     // bytes

  const std::byte* rows[kAll];
  std::int64_t row_bytes, skip;  // to the same row of the next ones, from the end of a row
  static constexpr std::int64_t kDistance = 512;

  // From column c on. If there are fewer rows, the last one is repeated. Prefetches the
  // next rows, the same number of bytes as it reads.
  WEFT_INLINE FloatRows(const LinearArgs& a, std::int64_t c)
      : row_bytes(a.k * C::kBytes), skip(kAll * a.w_stride - row_bytes) {
    for (int r = 0; r < kAll; ++r)
      rows[r] = a.w + (c + r < a.col1 ? c + r : a.col1 - 1) * a.w_stride;
  }

  // Elements of the rows of every panel.
  struct Step {
    typename S::Words words[kPanels][4];

    WEFT_INLINE Floats element(int panel, int i) const {
      return C::part(words[panel][i / kPerWord], i % kPerWord);
    }
  };

  // Calls f(step, k, n) for elements [k0, k1): those from k on, n <= kStep.
  template <class F>
  WEFT_INLINE void each(std::int64_t k0, std::int64_t k1, F f) const {
    constexpr std::int64_t kElems = kChunk / C::kBytes;
    // Rows are often a power of two apart, so that their lines share a set of L1, which does not
    // hold them all. Here each line is read once.
    alignas(64) std::byte chunk[kAll][kChunk];
    for (std::int64_t k = k0; k < k1; k += kElems) {
      const std::int64_t n = k1 - k < kElems ? k1 - k : kElems;
      for (int r = 0; r < kAll; ++r) {
        const std::byte* const from = rows[r] + k * C::kBytes;
        if (n == kElems) {
          std::memcpy(chunk[r], from, kChunk);
        } else {
          std::memset(chunk[r], 0, kChunk);
          std::memcpy(chunk[r], from, static_cast<std::size_t>(n * C::kBytes));
        }
      }
      for (std::int64_t i = 0; i < n; i += kStep) {
        Step step;
#pragma GCC unroll 2
        for (int p = 0; p < kPanels; ++p) {
          prefetch(k * C::kBytes, p * kRows + static_cast<int>(i / kStep) * 4);
          S::from_rows(
              [&](int r)
                  __attribute__((always_inline)) { return chunk[p * kRows + r] + i * C::kBytes; },
              step.words[p]);
        }
        f(step, k + i, n - i < kStep ? static_cast<int>(n - i) : kStep);
      }
    }
  }
  // Four lines, one of each row from r on.
  WEFT_INLINE void prefetch(std::int64_t offset, int r) const {
    const std::int64_t at = offset + kDistance;
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i)
      __builtin_prefetch(rows[r + i] + (at < row_bytes ? at : at + skip), 0, 2);
  }
};

}  // namespace weft::cpu

#endif
