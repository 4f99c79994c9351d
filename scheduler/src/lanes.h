#pragma once
// Who writes and who reads what. The one vocabulary in which the planner asks whether two lanes
// must meet: for a node cut among lanes, the part of the output that a lane makes, and the part of
// an input that it needs for it.

#include <cstdint>
#include <span>
#include <vector>

#include "weft/backends/backend.h"
#include "weft/graph/graph.h"
#include "weft/scheduler/plan.h"

namespace weft::lanes {

using Cols = std::vector<ColRange>;  // sorted, disjoint, none empty

// Sorts, joins what touches or overlaps, drops what is empty.
Cols normalized(Cols cols);
bool overlap(const Cols& a, const Cols& b);
std::int64_t width(const Cols& cols);
// The part of `cols` within [range.begin, range.end).
Cols within(const Cols& cols, ColRange range);

// How the lanes share one node.
struct Share {
  Split split = Split::one;
  std::vector<Cols> cols;  // Split::cols: per lane
  std::int32_t lane = 0;   // Split::one

  bool runs_in(int l) const { return split != Split::one || lane == l; }
};

// Rows of lane l: the cut depends on the extent and the number of lanes alone, so that nodes with
// the same rows are cut alike.
inline std::int64_t row_cut(std::int64_t rows, int lane, int lanes) {
  return rows * lane / lanes;
}

// Columns of a row at the bounds, and where they can be cut.
std::int64_t col_granule(const Graph& graph, const Node& node);
std::vector<std::int64_t> col_segments(const Graph& graph, const Node& node);

// Whether a node computes something at run time: views and whatever is not an op do not.
inline bool does_work(const Node& node) {
  return node.op && node.op->storage != Storage::view;
}

// The node whose memory `id` looks at through views, and where in its rows.
struct Source {
  NodeId node = kNoNode;
  std::int64_t col = 0;
  bool rows_match = true;  // row r of the view is row r of the source
};
Source source_of(const Graph& graph, NodeId id);

// The state that a node is or writes, through views; kNoNode where it is none.
NodeId state_of(const Graph& graph, NodeId id);
// Whose memory a node's output lies in: through views and state writers.
inline NodeId memory_of(const Graph& graph, NodeId id) {
  const NodeId source = source_of(graph, id).node;
  const NodeId state = state_of(graph, source);
  return state == kNoNode ? source : state;
}

// Whether an output of the graph looks at the memory of a node.
bool is_output(const Graph& graph, NodeId id);

// What of an input's source one lane needs.
struct Need {
  Cols cols;              // in columns of the source
  bool own_rows = false;  // only the lane's own rows, cut as the source's own
};
Need need(const Graph& graph, const Node& user, std::size_t input, const Share& share, int lane);

// Whether the need of lane `lane` meets something that another lane makes.
bool meets_others(const Need& need, int lane, const Share& maker, int lanes);

}  // namespace weft::lanes
