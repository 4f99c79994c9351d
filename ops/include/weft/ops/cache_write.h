#pragma once
// state[cells[t], :] = x[t, :]; the other rows keep what they hold. Returns the state as it is
// afterwards (same memory): use it, not the old handle.
//   state [S, G, E] of any type with an encoder, a state of the graph; E whole blocks of it
//   x [T, G, E] f32
//   cells [T] i32, distinct, 0 <= cell < S (the caller checks)

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kCacheWrite;
Tensor cache_write(Tensor state, Tensor x, Tensor cells,
                   std::source_location where = std::source_location::current());

}  // namespace weft
