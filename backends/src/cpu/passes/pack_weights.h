#pragma once
// Weights of projections in panels (cpu/panels.h): 16 rows side by side, so that a vector
// holds one element of 16 outputs and no sum goes across lanes. A resident lowering: whoever binds
// the weights brings them in that order.

#include "weft/graph/pass.h"

#include "cpu/isa.h"

namespace weft::cpu {

// For the rows of this instruction set, and of those that it contains; null: there are none.
Pass pack_weights(const InstructionSet* isa);

}  // namespace weft::cpu
