#pragma once
// The row of the previous token of each token's sequence:
//   y[t] = x[before[t]] if before[t] >= 0, else state[from[t]] if from[t] >= 0, else 0
// Row r of the state holds the last row of x of a sequence.
//
//   x, y [T, D] f32     state [R, D] f32, from, before, to [T] i32: state_rows.h
//
// Source: Peng et al. 2023, arXiv:2305.13048, section 3.1 (token shift of RWKV).

#include <source_location>

#include "weft/graph/tensor.h"
#include "weft/ops/recurrent/state_rows.h"

namespace weft {

extern const OpDef kTokenShift;  // inputs: x, state, from, before, to
Tensor token_shift(Tensor x, const StateRows& rows,
                   SourceLine where = std::source_location::current());

}  // namespace weft
