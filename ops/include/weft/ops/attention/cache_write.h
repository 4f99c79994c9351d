#pragma once
// Writes x[t] to cell cells[t] of the state if cells[t] >= 0. The other cells are unchanged.
// Returns the written state (the same memory): use it instead of the old handle.
//   state [B, G, 64, E], a state of the graph, S = 64 B cells (cache_cells.h has the layout); its
//     type is one of cache_types(), E is whole blocks of it
//   x [T, G, E] f32
//   cells [T] i32, below S; those that are not negative are distinct (the caller checks)

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kCacheWrite;
Tensor cache_write(Tensor state, Tensor x, Tensor cells,
                   SourceLine where = std::source_location::current());

}  // namespace weft
