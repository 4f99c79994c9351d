#pragma once

#include <cstdint>

#include "cpu/isa_tags.h"

namespace weft::cpu {

// The scores of one token's heads with one block of cells (ops/attention/choose_positions.h). All
// sums are in double and in the order of the definition, so that the bits are those of the
// definition.
struct IndexScoresArgs {
  const double* keys = nullptr;  // as IndexScoresKernels::widen leaves them, aligned to 64
  std::int64_t n = 0, e = 0;     // cells from the first one on, elements
  const double* q = nullptr;     // [n_heads][e]
  std::int64_t n_heads = 0;
  const float* weights = nullptr;  // [n_heads]; null: each head has scores of its own
  float* y = nullptr;              // [n_heads, or 1 with weights][kCells]; NaN becomes -infinity
};

struct IndexScoresKernels {
  static constexpr std::int64_t kCells = 64;  // cells of a block (ops/attention/cache_cells.h)
  static constexpr std::int64_t kStrip = 16;  // cells that are computed together

  // Keys [e][kCells] as doubles [kCells / kStrip][e][kStrip].
  void (*widen)(const float* tile, std::int64_t e, double* keys) noexcept = nullptr;
  void (*run)(const IndexScoresArgs& args) noexcept = nullptr;
};

template <class Arch>
struct IndexScores {
  static IndexScoresKernels run() noexcept;
};

}  // namespace weft::cpu
