#pragma once

#include <cstdint>

#include "cpu/isa_tags.h"
#include "cpu/kernels/linear/token_block.h"

namespace weft::cpu {

// One head over a block of tokens (weft/ops/recurrent/gated_linear_attention.h). All pointers are
// those of the head; `from` and `to` are [N, P].
struct GatedLinearAttentionBlock {
  TokenBlock tokens;
  std::int64_t n = 0, p = 0;
  TokenRows q, k, v, decay;
  bool decay_by_row = false;     // N factors, not one
  const float* bonus = nullptr;  // [N] or null
  float* y = nullptr;
  std::int64_t y_stride = 0;
  float* scratch = nullptr;  // scratch_floats(N), contents undefined
};

struct GatedLinearAttentionKernels {
  static constexpr std::int64_t kMaxTile = 64;  // columns of the state at a time
  static constexpr std::int64_t kTokens = 32;   // tokens at a time
  static constexpr std::int64_t scratch_floats(std::int64_t n) {
    return (n + 2 * kTokens) * kMaxTile;
  }
  void (*block)(const GatedLinearAttentionBlock& block) noexcept = nullptr;
};

// The elements of a state do not depend on each other. Four rows of some columns stay in registers
// for 32 tokens; the sums of y over the rows stay in the first cache. That is three multiply-adds
// per element and token, and next to no loads of the state, so multiply-adds are the limit.
//
// A chunked form (products of matrices over C tokens) needs 2 N P + C (N + P) / 2 multiply-adds per
// token instead of 3 N P: 28 % fewer with C = 16, N = 128 and P = 64. It would have to keep the
// keys and values of an unfinished chunk for the next step, and could not round the state after
// every token.
template <class Arch>
struct GatedLinearAttention {
  static GatedLinearAttentionKernels run() noexcept;
};

}  // namespace weft::cpu
