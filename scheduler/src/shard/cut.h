#pragma once
// How a tensor is cut among the ranks of a group, and which cuts of its inputs a cut of a node's
// output needs.

#include <cstdint>
#include <optional>
#include <vector>

#include "weft/graph/graph.h"

namespace weft::scheduler {

// Rank r has [begin(r), end(r)) of dimension `axis`, or, if the tensor [T, K, N] is cut by experts,
// the rows [t, k] whose expert ids[t, k] is one of [begin(r), end(r)): its other rows hold
// anything. No ends: all ranks have all of it.
struct Cut {
  int axis = -1;                   // below 0: whole, or by experts
  std::vector<std::int64_t> ends;  // by rank; the last one is the whole extent
  NodeId ids = kNoNode;            // which choose the experts

  bool whole() const { return ends.empty(); }
  bool by_experts() const { return ids != kNoNode; }
  std::int64_t begin(int rank) const {
    return rank > 0 ? ends[static_cast<std::size_t>(rank) - 1] : 0;
  }
  std::int64_t end(int rank) const { return ends[static_cast<std::size_t>(rank)]; }
  std::int64_t width(int rank) const { return end(rank) - begin(rank); }
  friend bool operator==(const Cut&, const Cut&) = default;
};

// `extent` elements in multiples of `granule` among `ranks`, as evenly as they can be. REQUIRES:
// `granule` divides `extent`, and there are at least as many granules as ranks.
Cut even_cut(int axis, std::int64_t extent, std::int64_t granule, int ranks);

// The cut of results [T, K, N] by the experts that `ids` choose. REQUIRES: at least as many experts
// as ranks.
Cut cut_by_experts(NodeId ids, std::int64_t n_experts, int ranks);

// The cuts of the inputs of an op node, in their order, that it needs to compute its output cut in
// this way: the same op with these parts gives the part. None: it cannot be computed in such
// parts. REQUIRES: `cut` is a cut of the output.
std::optional<std::vector<Cut>> cuts_of_inputs(const Graph& graph, const Node& node,
                                               const Cut& cut);

// The attributes of the node that computes the part of `rank`, or its term of a sum. `cut`: of the
// output, or for a term of the first input.
Attrs attrs_of_part(const Node& node, const Cut& cut, int rank);

// If the sum over all ranks of the op of parts of its inputs gives its output, the cuts of the
// inputs: `cut` of the first one, and what follows. None: it is not a sum over that dimension.
std::optional<std::vector<Cut>> cuts_of_terms(const Graph& graph, const Node& node, const Cut& cut);

// Whether f(x_0, ..) + f(x_1, ..) + .. = f(x_0 + x_1 + .., ..) for the inputs that are `partial`
// (by input), if the others are the same on all ranks.
bool is_linear_in(const Node& node, const std::vector<bool>& partial);

}  // namespace weft::scheduler
