#pragma once
// The row of the previous token of each token's sequence:
//   y[t] = x[before[t]] if before[t] >= 0, else state[from[t]] if from[t] >= 0, else 0
//
//   x, y [T, ..] f32     state [R, ..] f32, with the same dimensions after the first
//   from [T] i32, below R; before [T] i32, before[t] < t (the caller checks)
//
// Token shift of RWKV (Peng et al. 2023, arXiv:2305.13048). keep_rows writes x to the state.

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kTokenShift;  // inputs: x, state, from, before
Tensor token_shift(Tensor x, Tensor state, Tensor from, Tensor before,
                   std::source_location where = std::source_location::current());

}  // namespace weft
