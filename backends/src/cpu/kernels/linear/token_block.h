#pragma once
// Types shared by the kernels of ops with a state (weft/ops/recurrent/state_rows.h).

#include <cstdint>

namespace weft::cpu {

// Tokens of one sequence, in order.
struct TokenBlock {
  const std::int32_t* tokens = nullptr;
  std::int64_t n_tokens = 0;
  const float* from = nullptr;  // the state before the first one; null: zeros
  float* to = nullptr;          // gets the state after the last one; null: it is not kept
};

// One row of floats per token of a step.
struct TokenRows {
  const float* data = nullptr;
  std::int64_t stride = 0;  // floats from row to row

  __attribute__((always_inline)) const float* at(std::int64_t token) const {
    return data + token * stride;
  }
};

}  // namespace weft::cpu
