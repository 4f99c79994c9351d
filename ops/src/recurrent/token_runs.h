#pragma once
// Code shared by the ops with a recurrent state (weft/ops/recurrent/state_rows.h): checks of the
// inputs, and the tokens of a step by sequence.

#include <cstdint>
#include <vector>

#include "op_support.h"

namespace weft::ops {

// Checks state, from, before and to, the last four inputs: the state of a sequence is `shape`.
void expect_state_rows(Specs in, const Dim& n_tokens, std::initializer_list<std::int64_t> shape);

// Reads one row of the state, and writes one, for every token at most; `products` for every element
// of these rows. The last four inputs are state, from, before and to.
Cost recurrent_cost(Specs in, const TensorSpec& out, const Extents& extents, std::int64_t products);

struct TokenRuns {
  // REQUIRES: the last four inputs are state, from, before and to.
  explicit TokenRuns(Views in);

  const std::int32_t* to;  // [T]
  // The tokens of a sequence, in order.
  struct Run {
    std::int32_t from = -1;  // row of the state before the first one
    std::vector<std::int64_t> tokens;
  };
  std::vector<Run> runs;
};

}  // namespace weft::ops
