#pragma once
// Regions that lanes read and write. The planner uses them to find out whether two lanes must
// synchronize: for a node that is split among lanes, the part of the output that a lane computes,
// and the part of an input that it needs for it.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/graph/graph.h"
#include "weft/graph/memory_id.h"
#include "weft/scheduler/plan.h"

namespace weft::lanes {

using Cols = std::vector<ColRange>;  // sorted, disjoint, none empty

// Sorts, merges adjacent and overlapping ranges, and drops empty ones.
Cols normalized(Cols cols);
bool overlap(const Cols& a, const Cols& b);
std::int64_t width(const Cols& cols);
// The part of `cols` within [range.begin, range.end).
Cols within(const Cols& cols, ColRange range);

// How a node's work is divided among lanes.
struct Share {
  Split split = Split::one;
  std::vector<Cols> cols;  // Split::cols: per lane
  std::int32_t lane = 0;   // Split::one

  bool runs_in(int l) const { return split != Split::one || lane == l; }
};

// The first row of a lane. It depends only on the extent and the number of lanes, so that nodes
// with the same rows are split in the same way.
inline std::int64_t row_cut(std::int64_t rows, int lane, int lanes) {
  return rows * lane / lanes;
}

// Multiples at which a row can be split, and the ends of its segments (OpDef::col_segments).
std::int64_t col_granule(const Graph& graph, const Node& node);
std::vector<std::int64_t> col_segments(const Graph& graph, const Node& node);

// Whether a node computes something at run time: an op that is not a view.
inline bool does_work(const Node& node) {
  return node.op && node.op->storage != Storage::view;
}

// The node whose memory `id` views, directly or through other views, and the place in its rows.
struct Source {
  NodeId node = kNoNode;
  std::int64_t col = 0;
  bool rows_match = true;  // row r of the view is row r of the source
};
Source source_of(const Graph& graph, NodeId id);

// Whether input i of `node` is the output of `id` or a view of it.
bool reads(const Graph& graph, const Node& node, std::size_t i, NodeId id);

// The state that a node is, views or writes; kNoNode if there is none.
NodeId state_of(const Graph& graph, NodeId id);
// The node that owns the memory of a node's output: follows views and state writers.
inline NodeId memory_of(const Graph& graph, NodeId id) {
  const NodeId source = source_of(graph, id).node;
  const NodeId state = state_of(graph, source);
  return state == kNoNode ? source : state;
}

// The memory of a kernel's output. device_memory(i) is that of device_of(all[i]).
template <class All, class DeviceOf = std::identity>
MemoryId memory_of(const Kernel& kernel, const All& all, DeviceOf device_of = {}) {
  const auto at = std::ranges::find(all, kernel.device, device_of);
  if (!kernel.device || at == all.end()) return MemoryId::host;
  return device_memory(static_cast<std::size_t>(at - all.begin()));
}

// Whether an output of the graph uses the memory of a node.
bool is_output(const Graph& graph, NodeId id);

// The part of an input's source that a lane needs.
struct Need {
  Cols cols;              // in columns of the source
  bool own_rows = false;  // only the lane's own rows, split like those of the source
};
Need need(const Graph& graph, const Node& user, std::size_t input, const Share& share, int lane);

// Whether lane `lane` needs something that another lane computes.
bool needs_other_lanes(const Need& need, int lane, const Share& maker, int lanes);

}  // namespace weft::lanes
