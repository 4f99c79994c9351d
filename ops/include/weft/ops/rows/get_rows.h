#pragma once
// y[t, :] = table[ids[t], :], decoded to f32: token embeddings, and picking the rows that need
// logits.
//   table [N, D] any format     y [T, D] f32, or [T, K, D] for ids [T, K]
//   ids [T] or [T, K] i32, 0 <= id < N (the caller checks; an id outside gives a row of NaN)

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kGetRows;
Tensor get_rows(Tensor table, Tensor ids, SourceLine where = std::source_location::current());

}  // namespace weft
