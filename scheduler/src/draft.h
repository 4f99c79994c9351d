#pragma once
// The planner's notebook: what it knows about each node while it makes up its mind. Filled step by
// step, in this order: find_kernels, choose_splits, choose_cols, choose_stages.

#include <cstdint>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/graph/graph.h"

#include "lanes.h"

namespace weft {

// A part of a row that is at most one of this many parts may be given to one lane whole.
inline constexpr std::int64_t kSmallPart = 4;

// One op node that does work at run time. Views and everything that is not an op have `works`
// false.
struct Work {
  bool works = false;
  Kernel kernel;
  Cost cost;             // at the bounds
  double ns = 0;         // rough time on one lane, for choices only
  double shared_ns = 0;  // of that, for weights and states of which every row needs all
  lanes::Share share;
  std::vector<std::int64_t>
      cuts;  // Split::cols: multiples at which to cut, best first, the op's own granule last
  std::int32_t stage = 0;
};

struct Draft {
  const Graph& graph;
  int lanes = 1;
  std::vector<Work> works;  // by NodeId
  std::vector<std::vector<NodeId>>
      users;  // by NodeId, through views: the works that read a node's memory

  Work& operator[](NodeId id) { return works[static_cast<std::size_t>(id)]; }
  const Work& operator[](NodeId id) const { return works[static_cast<std::size_t>(id)]; }
  const std::vector<NodeId>& users_of(NodeId id) const {
    return users[static_cast<std::size_t>(id)];
  }
};

// Throws UnsupportedError naming the first node without a kernel.
Draft find_kernels(const Graph& graph, const Backend& backend, int lanes);
void choose_splits(Draft& draft);
void choose_cols(Draft& draft);
void choose_stages(Draft& draft);

}  // namespace weft
