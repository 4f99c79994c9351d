#pragma once

#include <cstdint>

#include "cpu/isa_tags.h"
#include "cpu/kernels/linear/token_block.h"

namespace weft::cpu {

// One head over a block of tokens (weft/ops/recurrent/delta_rule.h). All pointers are those of the
// head; `from` and `to` are [N, P].
struct DeltaRuleBlock {
  TokenBlock tokens;
  std::int64_t n = 0, p = 0;
  TokenRows q, k, v, decay, remove, write;
  bool decay_by_row = false;  // N factors, not one
  float* y = nullptr;
  std::int64_t y_stride = 0;
  float* tile = nullptr;  // [N, kMaxTile], contents undefined
};

struct DeltaRuleKernels {
  static constexpr std::int64_t kMaxTile = 32;  // columns of the state at a time
  void (*block)(const DeltaRuleBlock& block) noexcept = nullptr;
};

// The columns of a state do not depend on each other. Some columns, 16 KiB if N = 128, stay in the
// first cache for all tokens of the block: the state is read from memory and written to it once per
// block. One pass over the rows does the update of a token, its output and remove^T S of the next
// token: a load, a store, and five multiply-adds per element, so multiply-adds are the limit.
//
// A chunked form (products of matrices over C tokens) needs 4 N P + 2 C (N + P) + N P / C
// multiply-adds per token instead of 5 N P: 9 % fewer at best, with C = 16 if N = P = 128. With
// remove and write that are multiples of k, 3 N P + C (N + P) + N P / C: a third fewer. It would
// have to keep the keys and values of an unfinished chunk for the next step, could not round the
// state after every token, and a step of one token would cost more than here.
template <class Arch>
struct DeltaRule {
  static DeltaRuleKernels run() noexcept;
};

}  // namespace weft::cpu
