#pragma once
// y[t, :] = table[ids[t], :], decoded to f32: token embeddings, and picking the rows that need
// logits.
//   table [N, D] any format     y [T, D] f32
//   ids [T] i32, 0 <= id < N (the caller checks; an id outside gives a row of NaN)

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kGetRows;
Tensor get_rows(Tensor table, Tensor ids,
                std::source_location where = std::source_location::current());

}  // namespace weft
