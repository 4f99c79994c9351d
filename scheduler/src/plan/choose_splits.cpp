// Chooses the split of each node: the one with the minimum of a rough time. The time consists of
// when its inputs are ready (including joins), the work, and a join if its readers will need one
// because of the split. Depends only on reaches, widths and costs, never on which op it is.

#include <algorithm>
#include <limits>
#include <numeric>

#include "plan/sketch.h"

namespace weft::scheduler {
namespace {

bool cuts_cols(const Sketch& sketch, NodeId id) {
  const Node& node = sketch.graph[id];
  return sketch[id].kernel.splits &&
         node.spec.shape.cols() > lanes::col_granule(sketch.graph, node);
}

bool cuts_rows(const Sketch& sketch, NodeId id) {
  const Node& node = sketch.graph[id];
  return sketch[id].kernel.splits && node.op->splits_rows && node.op->storage == Storage::fresh &&
         node.spec.shape.rows().bound > 1;
}

Reach reach_of(const Node& user, std::size_t input) {
  return user.op->input(input).reach;
}

// Whether a reader uses so little of a row that one lane may as well compute all of it.
bool is_small_part(const Graph& graph, NodeId maker, NodeId seen) {
  return graph[seen].spec.shape.cols() * kSmallPart <= graph[maker].spec.shape.cols();
}

// Whether a reader with split `split` likely finds its inputs in its own lane. Columns have not
// been chosen yet.
bool likely_local(const Sketch& sketch, NodeId maker, const Node& user, std::size_t input,
                  Split split) {
  const Reach reach = reach_of(user, input);
  switch (sketch[maker].share.split) {
    case Split::copies:
      return true;
    case Split::one:
      return split == Split::one;
    case Split::cols:
      if (split == Split::one) return is_small_part(sketch.graph, maker, user.inputs[input]);
      return split == Split::cols && (reach == Reach::same || reach == Reach::col);
    case Split::rows:
      break;
  }
  return split == Split::rows && (reach == Reach::same || reach == Reach::row) &&
         sketch.graph[maker].spec.shape.rows() == user.spec.shape.rows();
}

int earliest_stage(const Sketch& sketch, const Node& node, Split split) {
  int stage = 0;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoNode) continue;
    const NodeId maker = lanes::source_of(sketch.graph, node.inputs[i]).node;
    if (!sketch[maker].works) continue;
    stage = std::max(stage,
                     sketch[maker].stage + (likely_local(sketch, maker, node, i, split) ? 0 : 1));
  }
  return stage;
}

// Whether some reader of `id` must wait for the other lanes because of this split.
bool forces_join(const Sketch& sketch, NodeId id, Split split) {
  if (split == Split::copies) return false;
  for (const NodeId user : sketch.users[id]) {
    const Node& node = sketch.graph[user];
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (!lanes::reads(sketch.graph, node, i, id)) continue;
      const Reach reach = reach_of(node, i);
      const bool by_cols = reach == Reach::same || reach == Reach::col;
      const bool by_rows =
          reach == Reach::same || (reach == Reach::row && !cuts_cols(sketch, user));
      if (split == Split::cols && !(by_cols && cuts_cols(sketch, user))) return true;
      if (split == Split::rows && !(by_rows && cuts_rows(sketch, user))) return true;
      if (split == Split::one) return true;
    }
  }
  return false;
}

double time_as(const Sketch& sketch, NodeId id, Split split) {
  const Work& work = sketch[id];
  const double lanes = sketch.lanes;
  double ns = kJoinNs * earliest_stage(sketch, sketch.graph[id], split);
  switch (split) {
    case Split::one:
      ns += work.ns;
      break;
    case Split::copies:
      ns += work.ns * (1 + kCopyOverhead * (lanes - 1));
      break;
    case Split::cols:
      ns += work.ns / lanes;
      break;
    case Split::rows:  // every lane reads all weights
      ns += work.ns / lanes + work.shared_ns * (1 - 1 / lanes);
      break;
  }
  return ns + (forces_join(sketch, id, split) ? kJoinNs : 0);
}

Split best_split(const Sketch& sketch, NodeId id) {
  const bool cols = cuts_cols(sketch, id);
  if (sketch.lanes == 1 || !sketch[id].kernel.splits) return Split::one;
  if (sketch.graph[id].op->writes_state()) return cols ? Split::cols : Split::one;
  Split best = Split::one;
  double best_ns = std::numeric_limits<double>::infinity();
  const auto consider = [&](Split split, bool possible) {
    const double ns = possible ? time_as(sketch, id, split) : best_ns;
    if (ns < best_ns) best = split, best_ns = ns;
  };
  consider(Split::cols, cols);
  consider(Split::rows, cuts_rows(sketch, id));
  consider(Split::copies, true);
  consider(Split::one, true);
  return best;
}

std::int64_t lcm_within(std::int64_t a, std::int64_t b, std::int64_t limit) {
  const std::int64_t m = std::lcm(a, b);
  return m < limit ? m : a;
}

// The smallest multiple of the granule for which the lanes need disjoint parts of the inputs (query
// heads must be split between groups that share a key head); the whole width if there is none.
std::int64_t clean_granule(const Graph& graph, const Node& node, std::int64_t granule) {
  const std::int64_t width = node.spec.shape.cols();
  if (!node.op->map_cols) return granule;
  const auto specs = graph.input_specs(node);
  const auto is_clean = [&](std::int64_t step) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Reach reach = reach_of(node, i);
      if (node.inputs[i] == kNoNode ||
          graph[lanes::memory_of(graph, node.inputs[i])].kind == NodeKind::weight)
        continue;
      if (reach != Reach::same && reach != Reach::col) continue;
      for (std::int64_t at = step; at < width; at += step) {
        const int index = static_cast<int>(i);
        if (node.op->map_cols(node.attrs, specs, index, {0, at}).end >
            node.op->map_cols(node.attrs, specs, index, {at, width}).begin) {
          return false;
        }
      }
    }
    return true;
  };
  for (std::int64_t n = 1; granule * n < width; ++n) {
    if (width % (granule * n) == 0 && is_clean(granule * n)) return granule * n;
  }
  return width;
}

// Fills the multiples at which a node's columns can be split. They suit its granule, its kernel,
// and earlier nodes of the same lane whose columns it continues. With cuts[0] the lanes also need
// disjoint parts of mapped inputs; the last one is the op's own granule.
void choose_cuts(Sketch& sketch, NodeId id) {
  const Graph& graph = sketch.graph;
  const Node& node = graph[id];
  const std::int64_t width = node.spec.shape.cols();
  const std::int64_t own = lanes::col_granule(graph, node);
  std::int64_t clean = std::max(own, clean_granule(graph, node, own)), fine = own;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoNode || reach_of(node, i) != Reach::same) continue;
    const lanes::Source source = lanes::source_of(graph, node.inputs[i]);
    const Work& maker = sketch[source.node];
    if (!maker.works || maker.share.split != Split::cols || maker.cuts.empty() || source.col != 0)
      continue;
    if (graph[source.node].spec.shape.cols() != width) continue;
    clean = std::min(width, std::lcm(clean, maker.cuts.front()));
    fine = lcm_within(fine, maker.cuts[maker.cuts.size() / 2], width);
  }
  if (clean < width) clean = lcm_within(clean, sketch[id].kernel.granule, width);
  sketch[id].cuts = {clean, lcm_within(fine, sketch[id].kernel.granule, width), own};
}

// The lane of a node that a single lane computes: that of an input, to avoid a join. Small parts of
// a shared row are distributed among lanes. Work for queues always comes from the first lane.
int choose_lane(const Sketch& sketch, NodeId id, int& next_lane) {
  if (sketch[id].kernel.queued) return 0;
  const Node& node = sketch.graph[id];
  bool from_cols = false;
  for (const NodeId input : node.inputs) {
    if (input == kNoNode) continue;
    const Work& maker = sketch[lanes::source_of(sketch.graph, input).node];
    if (maker.works && maker.share.split == Split::one) return maker.share.lane;
    from_cols |= maker.works && maker.share.split == Split::cols;
  }
  return from_cols ? next_lane++ % sketch.lanes : 0;
}

}  // namespace

void choose_splits(Sketch& sketch) {
  int next_lane = 0;
  for (NodeId id = 0; id < sketch.graph.size(); ++id) {
    Work& work = sketch[id];
    if (!work.works) continue;
    work.share.split = best_split(sketch, id);
    work.stage = earliest_stage(sketch, sketch.graph[id], work.share.split);
    if (work.share.split == Split::cols) choose_cuts(sketch, id);
    if (work.share.split == Split::one) work.share.lane = choose_lane(sketch, id, next_lane);
  }
}

}  // namespace weft::scheduler
