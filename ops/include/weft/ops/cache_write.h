#pragma once
// Cell cells[t] of the state becomes x[t]; the other cells keep what they hold. Returns the state
// as it is afterwards (same memory): use it, not the old handle.
//   state [B, G, 64, E], a state of the graph, S = 64 B cells; its type one of cache_types(), E
//     whole blocks of it (cache_cells.h says where a cell lies)
//   x [T, G, E] f32
//   cells [T] i32, distinct, 0 <= cell < S (the caller checks)

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kCacheWrite;
Tensor cache_write(Tensor state, Tensor x, Tensor cells,
                   std::source_location where = std::source_location::current());

}  // namespace weft
