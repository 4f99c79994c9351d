#pragma once
// y[t] = -ids[t]: rope_angles at negated positions undo a rotation.
//   ids [T] or [T, K] i32, above -2^31 (the caller checks)     y like ids, may run in place

#include <source_location>

#include "weft/graph/tensor.h"

namespace weft {

extern const OpDef kNegateIds;
Tensor negate_ids(Tensor ids, SourceLine where = std::source_location::current());

}  // namespace weft
