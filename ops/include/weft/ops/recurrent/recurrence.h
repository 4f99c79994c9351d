#pragma once
// A linear recurrence along the tokens of each sequence, element by element:
//   y[t, :] = a[t, :] * h + x[t, :]
//   with h = y[before[t], :] if before[t] >= 0, else state[from[t], :] if from[t] >= 0, else 0
//
//   a, x, y [T, ..] f32     state [R, ..] f32, with the same dimensions after the first
//   from [T] i32, below R; before [T] i32, before[t] < t (the caller checks)
//
// The core of gated linear recurrences (RG-LRU: De et al. 2024, arXiv:2402.19427; minGRU: Feng et
// al. 2024, arXiv:2410.01201). One product and one sum per token, in the order of the tokens, so
// that the result does not depend on how many tokens a step has. keep_rows writes the states.

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kRecurrence;  // inputs: a, x, state, from, before
Tensor recurrence(Tensor a, Tensor x, Tensor state, Tensor from, Tensor before,
                  SourceLine where = std::source_location::current());

}  // namespace weft
