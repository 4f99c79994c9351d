#pragma once
// Changes weights of projections to panels (cpu/panels.h): 16 interleaved rows, so that a vector
// holds one element of 16 outputs and no sum goes across lanes. A resident lowering: the loader of
// the weights must pack them in that layout.

#include "weft/graph/pass.h"

#include "cpu/isa.h"

namespace weft::cpu {

// For the kernel rows of this instruction set and of those it includes. Null if there are none.
Pass pack_weights(const InstructionSet* isa);

}  // namespace weft::cpu
