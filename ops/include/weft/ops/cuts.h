#pragma once
// Ways of cutting an output that several ops share, as OpCuts::inputs.

#include "weft/graph/op_def.h"

namespace weft {

// Every element is computed from those at the same place in inputs of the output's shape. Other
// inputs are repeated for its rows, heads or elements.
Cuts cut_elementwise(const Attrs&, Specs in, const TensorSpec& out, const Cut& cut);

// Every head of the output [T, H, E] is computed from the same one of input 0, and of the other
// inputs that have H heads; those that have none are needed whole.
Cuts cut_by_heads(const Attrs&, Specs in, const TensorSpec& out, const Cut& cut);

}  // namespace weft
