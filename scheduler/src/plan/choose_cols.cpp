// Chooses the columns of each lane, backwards through the graph. A lane computes the columns that
// its own readers need, if the needs of all lanes partition the row; otherwise the row is split
// evenly.

#include <algorithm>

#include "plan/sketch.h"

namespace weft::scheduler {
namespace {

using lanes::Cols;
using PerLane = std::vector<Cols>;

std::int64_t widest(const PerLane& cols) {
  std::int64_t n = 0;
  for (const Cols& c : cols) n = std::max(n, lanes::width(c));
  return n;
}

PerLane cut_evenly(ColRange part, std::int64_t step, int lanes) {
  const std::int64_t blocks = (part.end - part.begin + step - 1) / step;
  PerLane out(static_cast<std::size_t>(lanes));
  for (int lane = 0; lane < lanes; ++lane) {
    const std::int64_t begin = part.begin + lanes::row_cut(blocks, lane, lanes) * step;
    const std::int64_t end =
        std::min(part.end, part.begin + lanes::row_cut(blocks, lane + 1, lanes) * step);
    if (begin < end) out[static_cast<std::size_t>(lane)] = {{begin, end}};
  }
  return out;
}

// The coarsest split that is nearly as balanced as the finest.
PerLane balanced_cut(ColRange part, const std::vector<std::int64_t>& steps, int lanes) {
  constexpr double kToleratedImbalance = 1.15;
  const PerLane finest = cut_evenly(part, steps.back(), lanes);
  for (const std::int64_t step : steps) {
    PerLane cut = cut_evenly(part, step, lanes);
    if (static_cast<double>(widest(cut)) <=
        kToleratedImbalance * static_cast<double>(widest(finest)))
      return cut;
  }
  return finest;
}

bool aligned(const PerLane& cols, std::int64_t granule, ColRange part) {
  for (const Cols& lane : cols) {
    for (const ColRange& r : lane) {
      if (r.begin % granule != 0 && r.begin != part.begin) return false;
      if (r.end % granule != 0 && r.end != part.end) return false;
    }
  }
  return true;
}

bool partitions(const PerLane& cols, ColRange part) {
  std::int64_t total = 0;
  for (std::size_t a = 0; a < cols.size(); ++a) {
    total += lanes::width(cols[a]);
    for (std::size_t b = a + 1; b < cols.size(); ++b) {
      if (lanes::overlap(cols[a], cols[b])) return false;
    }
  }
  return total == part.end - part.begin;
}

// Splits `part` of the row of `id` by the needs of reader `user`, if these are balanced, or small
// enough for one lane to compute all of them. What goes to other ranks is needed soon, whichever
// lane sends it.
bool split_like_readers(const Sketch& sketch, NodeId id, ColRange part, std::int64_t granule,
                        NodeId user, PerLane& out) {
  const Node& node = sketch.graph[user];
  if (node.op->collective) return false;
  const lanes::Share& share = sketch[user].share;
  const bool small = (part.end - part.begin) * kSmallPart <= sketch.graph[id].spec.shape.cols();
  if (share.split != Split::cols && !(share.split == Split::one && small)) return false;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!lanes::reads(sketch.graph, node, i, id)) continue;
    PerLane cols;
    for (int lane = 0; lane < sketch.lanes; ++lane) {
      cols.push_back(share.runs_in(lane)
                         ? lanes::within(lanes::need(sketch.graph, node, i, share, lane).cols, part)
                         : Cols{});
    }
    if (!partitions(cols, part) || !aligned(cols, granule, part)) continue;
    out = std::move(cols);
    return true;
  }
  return false;
}

PerLane cols_of_part(const Sketch& sketch, NodeId id, ColRange part, std::int64_t granule) {
  PerLane cols;
  for (const NodeId user : sketch.users[id]) {
    if (split_like_readers(sketch, id, part, granule, user, cols)) return cols;
  }
  return balanced_cut(part, sketch[id].cuts, sketch.lanes);
}

}  // namespace

void choose_cols(Sketch& sketch) {
  for (NodeId id = sketch.graph.size() - 1; id >= 0; --id) {
    Work& work = sketch[id];
    if (!work.works || work.share.split != Split::cols) continue;
    const Node& node = sketch.graph[id];
    const std::int64_t granule = lanes::col_granule(sketch.graph, node);
    work.share.cols.assign(static_cast<std::size_t>(sketch.lanes), {});
    std::int64_t begin = 0;
    for (const std::int64_t end : lanes::col_segments(sketch.graph, node)) {
      const PerLane part = cols_of_part(sketch, id, {begin, end}, granule);
      for (std::size_t lane = 0; lane < part.size(); ++lane) {
        Cols& cols = work.share.cols[lane];
        cols.insert(cols.end(), part[lane].begin(), part[lane].end());
      }
      begin = end;
    }
  }
}

}  // namespace weft::scheduler
