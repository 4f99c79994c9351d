#pragma once
// Row rows[t] of the state becomes x[t], if rows[t] >= 0; the other rows keep what they hold.
// Returns the state as it is afterwards (same memory): use it, not the old handle.
//   state [R, ..] f32, a state of the graph     x [T, ..] f32, the same dimensions behind the first
//   rows [T] i32, below R, those that are not negative distinct (the caller checks)

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kKeepRows;
Tensor keep_rows(Tensor state, Tensor x, Tensor rows,
                 std::source_location where = std::source_location::current());

}  // namespace weft
