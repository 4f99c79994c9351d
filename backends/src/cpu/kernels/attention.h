#pragma once

#include <cstddef>
#include <cstdint>

#include "cpu/isa.h"

namespace weft::cpu {

// One token, some query heads of one group. Strides in bytes. Cells are gone through in blocks of
// kCells from the first on, so that a head's result depends on nothing but its own inputs.
struct AttentionArgs {
  const float* q = nullptr;      // [n_heads, E]
  const std::byte* k = nullptr;  // this group's part of the first cell; cells follow at k_stride
  std::int64_t k_stride = 0;
  const std::byte* v = nullptr;
  std::int64_t v_stride = 0;
  float* y = nullptr;        // [n_heads, E']
  std::int64_t n_cells = 0;  // at least 1
  std::int64_t n_heads = 0, e = 0, e_out = 0;
  float scale = 1;
  float* scratch = nullptr;  // attention_scratch floats, aligned to 64
};

struct AttentionKernels {
  static constexpr std::int64_t kCells = 32;                  // per block
  static constexpr std::int64_t kHeads = 4;                   // that share a load of a key or value
  void (*f32)(const AttentionArgs& args) noexcept = nullptr;  // k and v of f32
  void (*f16)(const AttentionArgs& args) noexcept = nullptr;
};

// Scores of kHeads heads, and per head of the group the largest score and the sum so far.
constexpr std::int64_t attention_scratch(std::int64_t n_heads) {
  return AttentionKernels::kHeads * AttentionKernels::kCells + 2 * n_heads;
}

template <class Arch>
struct Attention {
  static AttentionKernels run() noexcept;
};

}  // namespace weft::cpu
