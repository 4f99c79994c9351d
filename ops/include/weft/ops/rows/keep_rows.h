#pragma once
// Writes x[t] to row rows[t] of the state if rows[t] >= 0. The other rows are unchanged. Returns
// the written state (the same memory): use it instead of the old handle.
//   state [R, ..] f32, a state of the graph     x [T, ..] f32, with the same dimensions after the
//   first
//   rows [T] i32, below R; those that are not negative are distinct (the caller checks)

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kKeepRows;
Tensor keep_rows(Tensor state, Tensor x, Tensor rows,
                 SourceLine where = std::source_location::current());

}  // namespace weft
