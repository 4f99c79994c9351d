#pragma once
// Cuts of tensors among the ranks of a group (weft/graph/cut.h), and what the op of a node says
// about them.

#include <cstdint>
#include <vector>

#include "weft/graph/graph.h"

namespace weft::scheduler {

// `extent` elements in multiples of `granule` among `ranks`, as evenly as they can be. REQUIRES:
// `granule` divides `extent`, and there are at least as many granules as ranks.
Cut even_cut(int axis, std::int64_t extent, std::int64_t granule, int ranks);

// The cut of results [T, K, N] by the experts that `ids` choose. REQUIRES: at least as many experts
// as ranks.
Cut cut_by_experts(NodeId ids, std::int64_t n_experts, int ranks);

// Whether an op says in which parts it can be computed, or that it is to be computed whole.
bool says_cuts(const OpDef& op);

// The cuts of the inputs of an op node, in their order, that it needs to compute its output cut in
// this way. None: it cannot be computed in such parts. REQUIRES: `cut` is a cut of the output.
Cuts cuts_of_inputs(const Graph& graph, const Node& node, const Cut& cut);

// The attributes of the node that computes the part of `rank`, or its term of a sum. `cut`: of the
// output, or for a term of the first input.
Attrs attrs_of_part(const Node& node, const Cut& cut, int rank);

// If the sum over all ranks of the op of parts of its inputs gives its output, the cuts of the
// inputs: `cut` of the first one, and what follows. None: it is not a sum over that dimension.
Cuts cuts_of_terms(const Graph& graph, const Node& node, const Cut& cut);

// Whether f(x_0, ..) + f(x_1, ..) + .. = f(x_0 + x_1 + .., ..) for the inputs that are `partial`
// (by input), if the others are the same on all ranks.
bool is_linear_in(const Node& node, const std::vector<bool>& partial);

}  // namespace weft::scheduler
